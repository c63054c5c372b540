// SPDX-License-Identifier: BSD-2-Clause
// A side that goes with rings for it unread, as it may have woken, or been cancelled, before it heard them. The kernel tells
// the other one of that before all else: what was sent can be received still, descriptors too, and who sends them is told
// -EPIPE.
#define _GNU_SOURCE
#include <fin/chan_on.h>

#include "by_hand.h"

static char bytes[64];
enum { TOLD = 16 }; // lines of the first quarter of the ring: then the sender is told how many were taken

// It waits for room, is rung for, sends descriptors and closes its end.
static void leave_last(void *unused) {
    (void)unused;
    CHECK_EQ(recv(other[0], bytes, 1, MSG_PEEK | MSG_DONTWAIT), 1);
    send_descriptor(other[0], STDIN_FILENO);
    put(TOLD, 4, 2);
    *(uint32_t *)(memory + 8) = 1;
    close_other();
}

static void take_last(void *unused) {
    unsigned count = 1;
    int fd;
    (void)unused;
    CHECK_EQ(fin_chan_recv_fds(a, bytes, sizeof bytes, &fd, &count), 4);
    CHECK_EQ(count, 1);
    CHECK_EQ(close(fd), 0);
}

static void take_rest(void) {
    *(uint64_t *)memory = 1; // it waits
    for (unsigned i = 0; i < TOLD; i++)
        put(i, 56, 1);
    for (unsigned i = 0; i < TOLD; i++)
        CHECK_EQ(fin_chan_recv(a, bytes, sizeof bytes), 56);
}

static void end(void) {
    CHECK_EQ(fin_chan_recv(a, bytes, sizeof bytes), -ESHUTDOWN);
    CHECK_EQ(fin_chan_close(a), 0);
    munmap(memory, 3 * page);
}

static void received(void) {
    open_by_hand();
    take_rest();
    leave_last(NULL);
    take_last(NULL);
    end();
}

static void sleeping(void) {
    open_by_hand();
    take_rest();
    fin_finish {
        fin_async_call(take_last, NULL);
        CHECK_EQ(fin_sleep(10 * FIN_MS), 0);
        leave_last(NULL);
    }
    end();
}

static struct fin_chan_on on;

static void took(void *state, int n) {
    (void)state;
    CHECK_EQ(n, 4);
    fin_cont_end();
}

// fin_chan_recv_on closes the descriptors of what it takes.
static void takes_on(void *state, int result) {
    (void)state;
    (void)result;
    fin_chan_recv_on(a, bytes, sizeof bytes, &on, took, NULL, 0);
}

static void by_continuation(void) {
    open_by_hand();
    take_rest();
    fin_finish {
        fin_async_cont(takes_on, NULL, 0);
        CHECK_EQ(fin_sleep(10 * FIN_MS), 0);
        leave_last(NULL);
    }
    end();
}

static void in_a_set(void) {
    struct fin_waitset *w;
    open_by_hand();
    take_rest();
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, a, take_last, NULL), 0);
    leave_last(NULL);
    CHECK_EQ(fin_waitset_dispatch(w), 0);
    fin_waitset_close(w);
    end();
}

static void sent(void) {
    open_kind(SOCKET, 0, 0);
    CHECK_EQ(fin_chan_send_fds(a, "unread", 6, &(int){0}, 1), 0);
    CHECK_EQ(fin_chan_close(b), 0);
    CHECK_EQ(fin_chan_send_fds(a, "fd", 2, &(int){0}, 1), -EPIPE);
    CHECK_EQ(fin_chan_send(a, "none", 4), -EPIPE);
    CHECK_EQ(fin_chan_close(a), 0);
}

int main(void) {
    alarm(60);
    received();
    sleeping();
    int before = settled_descriptors(); // with what a thread waits with
    received();
    sleeping();
    by_continuation();
    in_a_set();
    sent();
    until_open_descriptors(before);
    return 0;
}
