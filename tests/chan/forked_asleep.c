// SPDX-License-Identifier: BSD-2-Clause
// The child of a fork closes its copy of a waitset in which a thread of the parent sleeps: a message wakes that one.
#include <fin/alert.h>

#include "chan.h"

static struct fin_waitset *w;
static uint64_t asleep;

static void handle(void *unused) {
    char p[8];
    (void)unused;
    CHECK_EQ(fin_chan_recv(b, p, sizeof p), 8);
}

static void says_so(void *unused) {
    struct fin_stats s;
    (void)unused;
    while (fin_sleep(FIN_MS) == 0) {
        fin_stats(&s);
        __atomic_store_n(&asleep, s.blocks[FIN_FOR_MESSAGE].with_stack, __ATOMIC_RELEASE);
    }
}

static void serves(void *unused) {
    fin_finish {
        fin_async_call(says_so, unused);
        CHECK_EQ(fin_waitset_dispatch(w), 0);
        fin_cancel();
    }
}

static void until_asleep(uint64_t times) {
    while (__atomic_load_n(&asleep, __ATOMIC_ACQUIRE) < times)
        usleep(1000);
}

static void closes(void *set) { fin_waitset_close(set); }

static void one(enum kind kind, bool monitored) {
    struct fin_thread_handle h;
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, handle, NULL), 0);
    asleep = 0;
    CHECK_EQ(fin_thread_start(&h, serves, NULL), 0);
    until_asleep(1);
    if (monitored) { // by this thread: what comes is told here, and that one has no socket to sleep at
        CHECK_EQ(fin_waitset_monitor(w), 0);
        until_asleep(2);
    }
    in_a_child(closes, w);
    CHECK_EQ(fin_chan_send(a, "message", 8), 0);
    fin_thread_join_nc(&h);
    fin_waitset_close(w);
    close_both();
}

int main(void) {
    skip_without_forks_of_threads();
    alarm(30);
    one(PAIR, false);
    one(SOCKET, false);
    one(SOCKET, true);
    return 0;
}
