// SPDX-License-Identifier: BSD-2-Clause
// The other side of a channel writes what it likes where it likes, in the shared memory and to the sockets, between our
// calls. Each ends with a message that is no longer than it can be, or with an error; no descriptor is left.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fin.h>

#include "fuzz.h"
#include "process.h"

enum { ROOM = 1500, STEPS = 200 };

static struct fin_chan *chan;
static uint64_t *words; // the shared memory
static size_t count, lap;
static int sockets[2]; // to the one that we receive from, and the other one
static unsigned char buffer[ROOM + GUARD];

// What an offer consists of.
static void take_apart(int fd) {
    char hello[64], control[256];
    struct iovec v = {hello, sizeof hello};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct stat s;
    int fds[2];
    CHECK(recvmsg(fd, &m, 0) > 0);
    memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fds);
    CHECK_EQ(fstat(fds[0], &s), 0);
    words = mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
    CHECK(words != MAP_FAILED);
    count = (size_t)s.st_size / 8;
    close(fds[0]);
    sockets[0] = fds[1];
    sockets[1] = fd;
}

static void send_packet(struct input *in) {
    char bytes[16] = {0};
    union {
        char room[CMSG_SPACE(20 * sizeof(int))];
        struct cmsghdr align;
    } control = {.room = {0}};
    uint64_t how = number(in, 2);
    unsigned n = how >> 1 & 31, size = how >> 6 & 15;
    struct iovec v = {bytes, size};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    if (n && n <= 20) {
        m.msg_control = control.room;
        m.msg_controllen = CMSG_SPACE(n * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        *c = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(n * sizeof(int))};
    }
    sendmsg(sockets[how & 1], &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void received(ssize_t n, size_t room) {
    guarded(buffer, room);
    CHECK(n <= (ssize_t)room);
}

static void receive_descriptors(struct input *in) {
    int fds[FIN_CHAN_FDS];
    unsigned n = (unsigned)number(in, 1) % (FIN_CHAN_FDS + 1), asked = n;
    ssize_t r = -ECANCELED;
    fin_timeout(1) {
        r = fin_chan_recv_fds(chan, buffer, ROOM, fds, &n);
    }
    received(r, ROOM);
    if (r < 0)
        return;
    CHECK(n <= asked);
    for (unsigned i = 0; i < n; i++)
        CHECK_EQ(close(fds[i]), 0);
}

static void look(void) {
    const void *bytes;
    ssize_t n = fin_chan_try_peek(chan, &bytes);
    if (n < 0)
        return;
    CHECK((size_t)n <= fin_chan_most(chan));
    uint64_t sum = 0;
    for (ssize_t i = 0; i < n; i++)
        sum += ((const volatile unsigned char *)bytes)[i];
    (void)sum;
    CHECK_EQ(fin_chan_release(chan), 0);
}

static void reserve(struct input *in) {
    void *room;
    size_t size = number(in, 2) % 3000;
    int r = -ECANCELED;
    fin_timeout(1) {
        r = fin_chan_reserve(chan, size, &room);
    }
    if (r != 0)
        return;
    memset(room, 0x11, size);
    if (size % 2) {
        fin_chan_abandon(chan);
    } else {
        r = fin_chan_commit(chan, size);
        CHECK(r == 0 || r == -EPIPE); // the other side may say that it takes no more
    }
}

static struct fin_chan_on on;
static ssize_t came;

static void has_come(void *state, int n) {
    (void)state;
    came = n;
    fin_cont_end();
}

static void waits(void *state, int result) {
    (void)result;
    has_come(state, fin_chan_recv_on(chan, buffer, ROOM, &on, has_come, NULL, 0));
}

static void receive_without_stack(void) {
    came = -ECANCELED;
    guard(buffer, ROOM);
    fin_finish {
        CHECK(fin_async_cont(waits, NULL, 0) != NULL);
        fin_yield();
        fin_cancel();
    }
    received(came, ROOM);
}

static void handle(void *unused) {
    (void)unused;
    guard(buffer, ROOM);
    received(fin_chan_try_recv(chan, buffer, ROOM), ROOM);
}

static void dispatch(void) {
    struct fin_waitset *w;
    CHECK_EQ(fin_waitset_new(&w), 0);
    if (fin_waitset_add(w, chan, handle, NULL) == 0) {
        fin_timeout(1) {
            fin_waitset_dispatch(w);
        }
    }
    fin_waitset_close(w);
}

static void step(struct input *in) {
    size_t room = ROOM, at;
    switch (number(in, 1) % 12) {
    case 0: // any word, most of all in the first page
        at = number(in, 2);
        words[at % (at & 1 ? 512 : count)] = number(in, 8);
        break;
    case 1: // a header of a lap that may be expected
        at = number(in, 1) % 64;
        words[512 + 8 * at] = number(in, 4) << 32 | (lap + number(in, 1) % 3) << 8 | number(in, 1) % 4;
        lap += at == 63;
        break;
    case 2: // and one where it is expected: a short message
        words[512 + 8 * (number(in, 1) % 64)] = (number(in, 2) % 2100) << 32 | lap << 8 | 1;
        break;
    case 3:
        send_packet(in);
        break;
    case 4:
        room = number(in, 2) % ROOM;
        guard(buffer, room);
        received(fin_chan_try_recv(chan, buffer, room), room);
        break;
    case 5:
        guard(buffer, ROOM);
        receive_descriptors(in);
        break;
    case 6:
        look();
        break;
    case 7:
        fin_chan_try_send(chan, buffer, number(in, 2) % ROOM);
        break;
    case 8:
        reserve(in);
        break;
    case 9:
        receive_without_stack();
        break;
    case 10:
        dispatch();
        break;
    default:
        lap = number(in, 1) % 4 + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {data, data + size};
    int fd[2];
    CHECK_EQ(fin_sleep(1), 0); // so that the thread has what it waits with
    int before = open_descriptors();
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), 0);
    CHECK_EQ(fin_chan_offer(&chan, fd[0], &(struct fin_chan_options){4096, 0}), 0);
    take_apart(fd[1]);
    lap = 1;
    fin_finish {
        for (int i = 0; i < STEPS && in.at < in.end; i++)
            step(&in);
    }
    CHECK_EQ(fin_chan_close(chan), 0);
    munmap(words, count * 8);
    close(sockets[0]);
    close(sockets[1]);
    until_open_descriptors(before);
    return 0;
}
