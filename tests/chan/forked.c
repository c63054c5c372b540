// SPDX-License-Identifier: BSD-2-Clause
// A fork while another thread puts a channel in a set and takes it out: the child has not that thread, nor what that had
// locked, and uses sets of its own.
#include "chan.h"
#include "process.h"

static bool ready, stop;

static void nothing(void *unused) { (void)unused; }

static void in_and_out(struct fin_waitset *w, struct fin_chan *c) {
    CHECK_EQ(fin_waitset_add(w, c, nothing, NULL), 0);
    CHECK_EQ(fin_waitset_remove(w, c), 0);
}

static void goes_on(void *unused) {
    struct fin_waitset *w;
    struct fin_chan *one, *other;
    (void)unused;
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_chan_pair(&one, &other, NULL), 0);
    in_and_out(w, one);
    __atomic_store_n(&ready, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        in_and_out(w, one);
    fin_waitset_close(w);
    CHECK_EQ(fin_chan_close(one), 0);
    CHECK_EQ(fin_chan_close(other), 0);
}

static void in_child(void) {
    struct fin_waitset *w;
    struct fin_chan *one, *other;
    alarm(60);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_chan_pair(&one, &other, NULL), 0);
    in_and_out(w, one);
    _exit(0);
}

int main(void) {
    struct fin_thread_handle h;
    skip_without_forks_of_threads();
    CHECK_EQ(fin_thread_start(&h, goes_on, NULL), 0);
    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) // the child of a fork within malloc has ASan's locks for ever
        usleep(1000);
    for (int i = 0; i < 30; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            in_child();
        ended_well(pid);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    fin_thread_join_nc(&h);
    return 0;
}
