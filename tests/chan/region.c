// SPDX-License-Identifier: BSD-2-Clause
// Megabytes between two processes: a region travels as a descriptor, messages tell what lies where.
#include <sys/resource.h>

#include "chan.h"

enum { SIZE = 8 << 20, PIECE = 1 << 20 };

static void other_process(void *unused) {
    (void)unused;
    struct fin_chan *c;
    struct fin_chan_region r;
    unsigned count = 1, piece;
    size_t size;
    int fd;
    CHECK_EQ(fin_chan_take(&c, sockets[1], 0), 0);
    CHECK_EQ(fin_chan_recv_fds(c, &size, sizeof size, &fd, &count), sizeof size);
    CHECK_EQ(count, 1);
    CHECK_EQ(fin_chan_region_map(&r, fd, size), 0);
    while (fin_chan_recv(c, &piece, sizeof piece) == sizeof piece) {
        CHECK(piece < size / PIECE);
        CHECK(filled((unsigned char *)r.data + piece * PIECE, PIECE, piece));
        fill((unsigned char *)r.data + piece * PIECE, PIECE, piece + 1);
        CHECK_EQ(fin_chan_send(c, &piece, sizeof piece), 0);
    }
    fin_chan_region_end(&r);
    CHECK_EQ(fin_chan_close(c), 0);
}

// Whose files may not be as large is told so, and not ended by SIGXFSZ.
static void too_large(void) {
    struct fin_chan_region r;
    struct rlimit before, small;
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = 4096, .rlim_max = before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    CHECK_EQ(fin_chan_region_make(&r, SIZE), -EFBIG);
    CHECK_EQ(fin_chan_pair(&a, &b, NULL), -EFBIG);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
}

int main(void) {
    struct fin_chan_region r;
    size_t size = SIZE;
    unsigned back;
    pid_t pid = child(other_process, NULL);
    too_large();
    CHECK_EQ(fin_chan_region_make(&r, 0), -EINVAL);
    CHECK_EQ(fin_chan_region_make(&r, SIZE), 0);
    CHECK_EQ(ftruncate(r.fd, 4096), -1);
    CHECK_EQ(fin_chan_offer(&a, sockets[0], NULL), 0);
    CHECK_EQ(fin_chan_send_fds(a, &size, sizeof size, &r.fd, 1), 0);
    for (unsigned i = 0; i < SIZE / PIECE; i++) {
        fill((unsigned char *)r.data + i * PIECE, PIECE, i);
        CHECK_EQ(fin_chan_send(a, &i, sizeof i), 0);
    }
    for (unsigned i = 0; i < SIZE / PIECE; i++) {
        CHECK_EQ(fin_chan_recv(a, &back, sizeof back), sizeof back);
        CHECK_EQ(back, i);
        CHECK(filled((unsigned char *)r.data + i * PIECE, PIECE, i + 1));
    }
    fin_chan_region_end(&r);
    CHECK_EQ(fin_chan_close(a), 0);
    ended_well(pid);
    return 0;
}
