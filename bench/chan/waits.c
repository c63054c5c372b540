// SPDX-License-Identifier: BSD-2-Clause
// An event among many channels, all on one processor; beside it epoll, with as many eventfds.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <fin.h>

#include "rows.h"

enum { MOST = 1000 };

static struct fin_waitset *set;
static struct fin_chan *from[MOST], *to[MOST];
static int epoll, fds[MOST];
static long members, watched;

static void handle(void *chan) {
    char p[MESSAGE];
    BENCH_MUST(fin_chan_try_recv(chan, p, sizeof p) == sizeof p);
}

// Of the right number, kept for the next repetition.
static void use_channels(long n) {
    if (!set)
        BENCH_DID(fin_waitset_new(&set));
    for (; members < n; members++) {
        BENCH_DID(fin_chan_pair(&from[members], &to[members], &(struct fin_chan_options){4096, 0}));
        BENCH_DID(fin_waitset_add(set, to[members], handle, to[members]));
    }
    for (; members > n; members--) {
        BENCH_DID(fin_chan_close(from[members - 1]));
        BENCH_DID(fin_chan_close(to[members - 1]));
    }
}

static double events(long n, long channels) {
    char p[MESSAGE] = {0};
    use_channels(channels);
    for (long i = 0; i < 3 * channels; i++) { // who is silent has been noticed
        BENCH_MUST(fin_chan_send(from[i % channels], p, sizeof p) == 0);
        BENCH_MUST(fin_waitset_dispatch_nonblock(set) == 0);
    }
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++) {
        BENCH_MUST(fin_chan_send(from[i * 7919 % channels], p, sizeof p) == 0);
        BENCH_MUST(fin_waitset_dispatch_nonblock(set) == 0);
    }
    return bench_since(start, (double)n);
}

double waitset_1(long n) { return events(n, 1); }
double waitset_30(long n) { return events(n, 30); }
double waitset_1000(long n) { return events(n, MOST); }

static void use_descriptors(long n) {
    if (!epoll)
        epoll = (int)BENCH_SYS(epoll_create1(EPOLL_CLOEXEC));
    for (; watched < n; watched++) {
        int fd = fds[watched] = (int)BENCH_SYS(eventfd(0, EFD_CLOEXEC));
        struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
        BENCH_SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e));
    }
    for (; watched > n; watched--)
        close(fds[watched - 1]);
}

static void epoll_event(int fd) {
    struct epoll_event e;
    eventfd_t value;
    BENCH_GOT(eventfd_write(fd, 1) == 0 && epoll_wait(epoll, &e, 1, 0) == 1);
    BENCH_GOT(eventfd_read(e.data.fd, &value) == 0);
}

static double epoll_events(long n, long descriptors) {
    use_descriptors(descriptors);
    for (long i = 0; i < 3 * descriptors; i++) // as warm as the channels
        epoll_event(fds[i % descriptors]);
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++)
        epoll_event(fds[i * 7919 % descriptors]);
    return bench_since(start, (double)n);
}

double epoll_1(long n) { return epoll_events(n, 1); }
double epoll_1000(long n) { return epoll_events(n, MOST); }
