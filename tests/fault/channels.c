// SPDX-License-Identifier: BSD-2-Clause
// Channels: a pair between threads, ends that are offered and taken, a listener with a name; descriptors that travel.
#define _GNU_SOURCE
#include <fcntl.h>

#include "fault.h"

enum { ROUNDS = 11, LARGE = 1000 };
const int threads = 1;
void (*const prepare)(void) = NULL;

static struct fin_chan *near, *far;

static void echo(void *chan) {
    struct fin_chan *c = chan;
    char p[LARGE];
    ssize_t n;
    while ((n = fin_chan_recv(c, p, sizeof p)) >= 0)
        if (!fine(fin_chan_send(c, p, (size_t)n)))
            break;
    if (n < 0)
        fine(n == -ESHUTDOWN ? 0 : n);
    CHECK_EQ(fin_chan_close(c), 0);
}

static void talk(struct fin_chan *c) {
    char out[LARGE], in[LARGE];
    for (int i = 0; i < ROUNDS; i++) {
        size_t size = i % 5 ? 20 : LARGE;
        memset(out, i, size);
        if (i == 7 && !fine(fin_sleep(1000))) // the other side falls asleep
            return;
        if (!fine(fin_chan_send(c, out, size)))
            return;
        ssize_t n = fin_chan_recv(c, in, sizeof in);
        if (!fine(n))
            return;
        CHECK_EQ(n, size);
        CHECK(memcmp(in, out, size) == 0);
    }
}

static void between_threads(void) {
    struct fin_thread_handle h;
    if (!fine(fin_chan_pair(&near, &far, &(struct fin_chan_options){4096, 0})))
        return;
    int r = fin_thread_start(&h, echo, far);
    if (fine(r))
        talk(near);
    else
        CHECK_EQ(fin_chan_close(far), 0);
    CHECK_EQ(fin_chan_close(near), 0);
    if (r == 0)
        fin_thread_join_nc(&h);
}

static void through_socket(void) {
    int fd[2];
    if (!fine_errno(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd)))
        return;
    if (!fine(fin_chan_offer(&near, fd[0], &(struct fin_chan_options){4096, 0}))) {
        close(fd[1]);
        return;
    }
    if (fine(fin_chan_take(&far, fd[1], 0))) {
        fin_finish {
            fin_async_call(echo, far);
            talk(near);
            CHECK_EQ(fin_chan_close(near), 0);
        }
    } else {
        CHECK_EQ(fin_chan_close(near), 0);
    }
}

static struct fin_chan_listener *listener;
static char name[32];

static void give_descriptor(void) {
    struct fin_chan *c;
    if (!fine(fin_chan_accept(listener, &c)))
        return;
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fine_errno(fd)) {
        fine(fin_chan_send_fds(c, "take", 4, &fd, 1));
        close(fd);
    }
    CHECK_EQ(fin_chan_close(c), 0);
}

static void get_descriptor(void) {
    struct fin_chan *c;
    char text[8];
    int fd;
    unsigned count = 1;
    if (!fine(fin_chan_connect(&c, name, 0)))
        return;
    ssize_t n = fin_chan_recv_fds(c, text, sizeof text, &fd, &count);
    if (fine(n == -ESHUTDOWN && failed() ? 0 : n) && n == 4) {
        CHECK_EQ(count, 1);
        close(fd);
    }
    CHECK_EQ(fin_chan_close(c), 0);
}

static void by_name(void) {
    snprintf(name, sizeof name, "@fin-fault-%d", (int)getpid());
    if (!fine(fin_chan_listen(&listener, name, &(struct fin_chan_options){4096, 0})))
        return;
    fin_finish_as(both) {
        fin_async {
            give_descriptor();
            if (failed())
                fin_cancel_as(both);
        };
        get_descriptor();
        if (failed())
            fin_cancel_as(both);
    }
    fin_chan_listener_close(listener);
}

void scenario(void) {
    between_threads();
    through_socket();
    by_name();
}
