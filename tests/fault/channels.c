// SPDX-License-Identifier: BSD-2-Clause
// Channels: a pair between threads, ends that are offered and taken, listeners with names; descriptors that travel, also
// between AWEs of a thread, and as regions; a set that is monitored.
#define _GNU_SOURCE
#include <fcntl.h>

#include <fin/alert.h>

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

// What fails has made nothing.
static bool makes_pair(void) {
    near = far = NULL;
    bool made = fine(fin_chan_pair(&near, &far, &(struct fin_chan_options){4096, 0}));
    CHECK(!near == !made && !far == !made);
    return made;
}

static void between_threads(void) {
    struct fin_thread_handle h;
    if (!makes_pair())
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

static void takes(void *chan) {
    char p;
    CHECK_EQ(fin_chan_try_recv(chan, &p, 1), 1);
}

static void alerted(void) {
    struct fin_waitset *w;
    if (!fine(fin_waitset_new(&w)))
        return;
    if (fine(fin_waitset_add(w, far, takes, far)) && fine(fin_waitset_monitor(w))) {
        if (fine(fin_chan_send(near, "a", 1)))
            fine(fin_waitset_dispatch_monitored(w));
        fin_waitset_poll(w);
    }
    fin_waitset_close(w);
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
        alerted();
        fin_finish {
            fin_async_call(echo, far);
            talk(near);
            CHECK_EQ(fin_chan_close(near), 0);
        }
    } else {
        CHECK_EQ(fin_chan_close(near), 0);
    }
}

static void send_region(void) {
    struct fin_chan_region made, mapped;
    char p;
    int fd;
    unsigned count = 1;
    if (!fine(fin_chan_region_make(&made, LARGE)))
        return;
    *(char *)made.data = 7;
    if (fine(fin_chan_send_fds(near, "r", 1, &made.fd, 1)) && fine(fin_chan_recv_fds(far, &p, 1, &fd, &count))) {
        CHECK_EQ(count, 1);
        if (fine(fin_chan_region_map(&mapped, fd, LARGE))) {
            CHECK_EQ(*(char *)mapped.data, 7);
            fin_chan_region_end(&mapped);
        }
    }
    fin_chan_region_end(&made);
}

static void in_a_thread(void) {
    if (!makes_pair())
        return;
    send_region();
    CHECK_EQ(fin_chan_close(near), 0);
    CHECK_EQ(fin_chan_close(far), 0);
}

static struct fin_chan_listener *listener;
static char name[64];

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

static void by_name(const char *where) {
    snprintf(name, sizeof name, "%sfin-fault-%d", where, (int)getpid());
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
    in_a_thread();
    by_name("@");
    by_name("/tmp/");
}
