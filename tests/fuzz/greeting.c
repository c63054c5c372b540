// SPDX-License-Identifier: BSD-2-Clause
// What comes where an offer is expected: any bytes, any descriptors. Either there is a channel, which then works as far as
// the memory is sound, or an error; what came is closed.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fin.h>

#include "fuzz.h"
#include "process.h"

enum { MOST_FDS = 6, PAGES = 3 }; // PAGES: of 64 lines in each direction
static const unsigned char good[16] = {'f', 'i', 'n', '-', 'c', 'h', 'a', 'n', 5, 0, 0, 0, 64, 0, 0, 0};

static int memory_of(struct input *in, size_t pages, size_t more, int seals) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(fd >= 0);
    CHECK_EQ(ftruncate(fd, (off_t)(pages * 4096 + more)), 0);
    fcntl(fd, F_ADD_SEALS, seals);
    if (pages) { // the other side has written to it already
        uint64_t word[2] = {number(in, 8), number(in, 8)};
        ssize_t n = pwrite(fd, word, sizeof word, (off_t)(number(in, 2) % (pages * 4096)) & ~7);
        (void)n; // sealed
    }
    return fd;
}

static int memory(struct input *in) {
    size_t pages = number(in, 1) % 8, more = number(in, 1) % 2;
    return memory_of(in, pages, more, (int)(number(in, 1) & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)));
}

static int seqpacket(void) {
    int fd[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), 0);
    close(fd[1]);
    return fd[0];
}

static int descriptor(struct input *in) {
    int fd[2];
    switch (number(in, 1) % 6) {
    case 0:
        return open("/dev/null", O_RDWR | O_CLOEXEC);
    case 1:
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
        close(fd[1]);
        return fd[0];
    case 2:
    case 3:
        return seqpacket();
    default:
        return memory(in);
    }
}

// The descriptors are its own afterwards.
static void send_to(int socket, void *bytes, size_t size, const int *fds, unsigned n) {
    union {
        char room[CMSG_SPACE(MOST_FDS * sizeof(int))];
        struct cmsghdr align;
    } control = {.room = {0}};
    struct iovec v = {bytes, size};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    if (n) {
        m.msg_control = control.room;
        m.msg_controllen = CMSG_SPACE(n * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        *c = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(n * sizeof(int))};
        memcpy(CMSG_DATA(c), fds, n * sizeof(int));
    }
    sendmsg(socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    for (unsigned i = 0; i < n; i++)
        close(fds[i]);
}

static void offer(struct input *in, int socket) {
    unsigned char bytes[24] = {0};
    int fds[MOST_FDS];
    unsigned n = (unsigned)number(in, 1) % (MOST_FDS + 1);
    memcpy(bytes, good, sizeof good);
    for (uint64_t changes = number(in, 1) % 4; changes; changes--) {
        size_t at = number(in, 1) % sizeof bytes;
        bytes[at] = (unsigned char)number(in, 1);
    }
    size_t size = number(in, 1) % 4 ? sizeof good : number(in, 1) % sizeof bytes;
    for (unsigned i = 0; i < n; i++)
        fds[i] = i == 0 && number(in, 1) % 2 ? memory(in) : descriptor(in);
    send_to(socket, bytes, size, fds, n);
}

// It is taken, and then there may be anything in the memory.
static void offer_good(struct input *in, int socket) {
    unsigned char bytes[sizeof good];
    memcpy(bytes, good, sizeof good);
    send_to(socket, bytes, sizeof bytes, (int[]){memory_of(in, PAGES, 0, F_SEAL_SHRINK), seqpacket()}, 2);
}

static void use(struct fin_chan *c) {
    unsigned char buffer[2100 + GUARD];
    for (int i = 0; i < 4; i++) {
        guard(buffer, 2100);
        CHECK(fin_chan_try_recv(c, buffer, 2100) <= 2100);
        guarded(buffer, 2100);
        fin_chan_try_send(c, "hello", 5);
    }
    CHECK_EQ(fin_chan_close(c), 0);
}

// Whatever comes as a region: what is mapped can be touched.
static void map(struct input *in) {
    struct fin_chan_region r;
    size_t size = number(in, 2) % 30000;
    int fd = number(in, 1) % 2 ? memory(in) : descriptor(in), error = fin_chan_region_map(&r, fd, size);
    CHECK(error == 0 || error == -EPROTO || error == -EINVAL);
    if (error != 0)
        return;
    CHECK_EQ(r.size, size);
    for (size_t i = 0; i < size; i += 512)
        ((volatile char *)r.data)[i]++;
    fin_chan_region_end(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {data, data + size};
    struct fin_chan *c = NULL;
    int fd[2], r = -ECANCELED;
    CHECK_EQ(fin_sleep(1), 0); // so that the thread has what it waits with
    int before = open_descriptors();
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), 0);
    bool is_good = number(&in, 1) % 2;
    (is_good ? offer_good : offer)(&in, fd[1]);
    fin_timeout(FIN_S) { // a packet is there, so that nobody waits
        r = fin_chan_take(&c, fd[0], number(&in, 1) % 2 ? FIN_CHAN_SHARED : 0);
    }
    CHECK(r == 0 || (!is_good && (r == -EPROTO || r == -ECONNRESET)));
    if (r == 0)
        use(c);
    close(fd[1]);
    map(&in);
    until_open_descriptors(before);
    return 0;
}
