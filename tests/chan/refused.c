// SPDX-License-Identifier: BSD-2-Clause
// What is offered is checked: memory that could shrink, is too small, or is no memory; lengths that are none; too few
// descriptors; no greeting at all. What came is closed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>

#include "chan.h"

struct greeting {
    char magic[8];
    uint32_t version, lines;
};

static const struct greeting good = {"fin-chan", 5, 64};
static struct fin_chan *c;

// Sends a greeting with descriptors, and returns what is made of it.
static int offered(const struct greeting *g, size_t size, const int *fds, unsigned count) {
    int s[2];
    union {
        char room[CMSG_SPACE(4 * sizeof(int))];
        struct cmsghdr align;
    } control = {.room = {0}};
    struct iovec v = {(void *)g, size};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
    if (count) {
        m.msg_control = control.room;
        m.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        h->cmsg_level = SOL_SOCKET;
        h->cmsg_type = SCM_RIGHTS;
        h->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(h), fds, count * sizeof(int));
    }
    CHECK_EQ(sendmsg(s[0], &m, 0), size);
    int r = fin_chan_take(&c, s[1], 0);
    close(s[0]);
    return r;
}

static int memory(size_t size, int seals) {
    int fd = memfd_create("test", MFD_ALLOW_SEALING);
    CHECK(fd >= 0);
    CHECK_EQ(ftruncate(fd, (off_t)size), 0);
    CHECK_EQ(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

int main(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = page + 2 * page;
    struct greeting g = good;
    g.lines = (uint32_t)(page / 64);
    int s[2], file[2];
    CHECK_EQ(fin_sleep(1), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
    CHECK_EQ(pipe(file), 0);
    int whole = memory(size, F_SEAL_SHRINK), loose = memory(size, F_SEAL_GROW), small = memory(size - 1, F_SEAL_SHRINK);
    int fixed = memory(size, F_SEAL_SHRINK | F_SEAL_WRITE);
    CHECK_EQ(offered(&g, sizeof g, (int[]){whole, s[0]}, 2), 0);
    CHECK_EQ(fin_chan_close(c), 0);
    int before = open_descriptors();
    CHECK_EQ(offered(&g, sizeof g, (int[]){loose, s[0]}, 2), -EPROTO);
    CHECK_EQ(offered(&g, sizeof g, (int[]){small, s[0]}, 2), -EPROTO);
    CHECK_EQ(offered(&g, sizeof g, (int[]){fixed, s[0]}, 2), -EPROTO);
    CHECK_EQ(offered(&g, sizeof g, (int[]){file[0], s[0]}, 2), -EPROTO);
    CHECK_EQ(offered(&g, sizeof g, (int[]){whole, file[0]}, 2), -EPROTO);
    CHECK_EQ(offered(&g, sizeof g, (int[]){s[0], whole}, 2), -EPROTO);
    CHECK_EQ(offered(&g, sizeof g, (int[]){whole}, 1), -EPROTO);
    CHECK_EQ(offered(&g, sizeof g, (int[]){whole, s[0], s[1]}, 3), -EPROTO);
    CHECK_EQ(offered(&g, sizeof g, NULL, 0), -EPROTO);
    CHECK_EQ(offered(&g, sizeof g - 1, (int[]){whole, s[0]}, 2), -EPROTO);
    const uint32_t lines[] = {0, 1, 63, 65, 100, 1 << 21, 1u << 31, UINT32_MAX};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct greeting bad = g;
        bad.lines = lines[i];
        CHECK_EQ(offered(&bad, sizeof bad, (int[]){whole, s[0]}, 2), -EPROTO);
    }
    g.version++;
    CHECK_EQ(offered(&g, sizeof g, (int[]){whole, s[0]}, 2), -EPROTO);
    int t[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, t), 0);
    close(t[0]);
    CHECK_EQ(fin_chan_take(&c, t[1], 0), -ECONNRESET);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, t), 0);
    CHECK_EQ(fin_chan_take(&c, t[1], 0), -EINVAL);
    CHECK_EQ(fin_chan_offer(&c, t[0], NULL), -EINVAL);
    until_open_descriptors(before);
    struct fin_chan_region r;
    CHECK_EQ(fin_chan_region_map(&r, loose, page), -EPROTO);
    CHECK_EQ(fin_chan_region_map(&r, small, size), -EPROTO);
    CHECK_EQ(fin_chan_region_map(&r, whole, size), 0);
    fin_chan_region_end(&r);
    return 0;
}
