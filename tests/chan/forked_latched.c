// SPDX-License-Identifier: BSD-2-Clause
// A process forks while another thread has latches of a waitset and of its members: the child, which closes its copies, has
// not that thread, and does not wait for it.
#include "chan.h"
#include "chan/waitset.h"

enum { SETS, OWNS, BOTH };

static struct fin_waitset *w;
static struct fin_waitset_source source;

static void nothing(void *unused) { (void)unused; }

static void all(void (*fn)(struct fin_latch *), int which) {
    if (which != SETS) {
        fn(&a->in.ump.meeting->latch);
        fn(&source.latch);
    }
    if (which != OWNS)
        fn(&w->waiters.latch);
}

static void acquire(struct fin_latch *l) { fin_latch_acquire(l); }
static void release(struct fin_latch *l) { fin_latch_release(l); }

static void close_set(void) { fin_waitset_close(w); }

static void close_ends_first(void) {
    close_both();
    fin_waitset_close(w);
}

static void close_set_first(void) {
    fin_waitset_close(w);
    fin_waitset_remove_source(w, &source);
    close_both();
}

static void in_child(void (*closes)(void), int which) {
    all(acquire, which); // as another thread would
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        closes();
        _exit(0);
    }
    all(release, which);
    ended_well(pid);
}

int main(void) {
    alarm(60);
    open_kind(PAIR, 4096, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, a, nothing, NULL), 0);
    CHECK_EQ(fin_waitset_add_source(w, &source, nothing, NULL), 0);
    for (int which = SETS; which <= BOTH; which++) {
        in_child(close_set, which);
        in_child(close_ends_first, which);
        in_child(close_set_first, which);
    }
    fin_waitset_trigger(&source);
    CHECK_EQ(fin_waitset_dispatch(w), 0);
    fin_waitset_close(w);
    close_both();
    return 0;
}
