// SPDX-License-Identifier: BSD-2-Clause
// A connection is ended from outside of its handler while two threads dispatch: whoever has removed it and waited may close
// the channel and free what the handler uses, whether that ran, was about to, or had never been called; also where the
// channel moves to another set meanwhile. In the handler itself that is an error.
#include <fin/waitset.h>

#include "chan.h"

enum { TIMES = 400, SETS = 2 };

struct connection {
    struct fin_chan *c;
    unsigned seen, in;
};
static struct fin_waitset *sets[SETS];
static unsigned calls, waited;

static void handle(void *arg) {
    struct connection *k = arg;
    char b[8];
    CHECK_EQ(__atomic_fetch_add(&k->in, 1, __ATOMIC_SEQ_CST), 0);
    fin_sleep_nc(k->seen % 3 * 50 * FIN_US);
    CHECK(fin_chan_try_recv(k->c, b, sizeof b) <= 1);
    k->seen++;
    __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    CHECK_EQ(__atomic_fetch_sub(&k->in, 1, __ATOMIC_SEQ_CST), 1);
}

static void dispatches(void *set) {
    int r;
    while ((r = fin_waitset_dispatch(set)) == 0)
        continue;
    CHECK_EQ(r, -ESHUTDOWN);
}

static void once(int i) {
    struct connection *k = calloc(1, sizeof *k);
    struct fin_chan *peer;
    int at = 0;
    CHECK_EQ(fin_chan_pair(&k->c, &peer, NULL), 0);
    CHECK_EQ(fin_waitset_add(sets[0], k->c, handle, k), 0);
    for (int n = 0; n < i % 4; n++) {
        CHECK_EQ(fin_chan_send(peer, "x", 1), 0);
        if (i % 7 == n)
            CHECK_EQ(fin_waitset_move(sets[at = 1], k->c), 0);
        if (i % 3)
            fin_sleep_nc((uint64_t)(i % 20) * 10 * FIN_US);
    }
    waited += __atomic_load_n(&k->in, __ATOMIC_SEQ_CST);
    CHECK_EQ(fin_waitset_remove_wait_nc(sets[at], k->c), 0);
    CHECK_EQ(k->in, 0);
    CHECK_EQ(fin_waitset_remove_wait_nc(sets[at], k->c), -ENOENT);
    CHECK_EQ(fin_chan_close(k->c), 0);
    memset(k, 0xff, sizeof *k);
    free(k);
    CHECK_EQ(fin_chan_close(peer), 0);
}

static void from_outside(void) {
    struct fin_thread_handle h[2 * SETS];
    for (int i = 0; i < SETS; i++)
        CHECK_EQ(fin_waitset_new(&sets[i]), 0);
    for (int i = 0; i < 2 * SETS; i++)
        CHECK_EQ(fin_thread_start(&h[i], dispatches, sets[i % SETS]), 0);
    for (int i = 0; i < (int)few(TIMES); i++)
        once(i);
    for (int i = 0; i < SETS; i++)
        fin_waitset_shutdown(sets[i]);
    for (int i = 0; i < 2 * SETS; i++)
        fin_thread_join_nc(&h[i]);
    for (int i = 0; i < SETS; i++)
        fin_waitset_close(sets[i]);
    CHECK(calls > 0);
}

// ---- in one thread, where the order is known

static struct fin_waitset_source source;
static struct fin_sem goes_on = FIN_SEM_INIT(0);
static char order[8];

static void note(char c) { order[strlen(order)] = c; }

static void removes_itself(void *set) {
    CHECK_EQ(fin_waitset_remove_source_wait_nc(set, &source), -EDEADLK);
    note('h');
    fin_sem_wait_nc(&goes_on);
    note('e');
}

static void dispatches_one(void *set) { CHECK_EQ(fin_waitset_dispatch(set), 0); }

static void removes(void *set) {
    note('r');
    CHECK_EQ(fin_waitset_remove_source_wait_nc(set, &source), 0);
    note('w');
}

static void in_order(void) {
    struct fin_waitset *w;
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add_source(w, &source, removes_itself, w), 0);
    fin_waitset_trigger(&source);
    fin_finish_as(all) {
        fin_async_call(dispatches_one, w);
        fin_async_call(removes, w);
        fin_cancel_as(all); // it waits all the same
        fin_yield();
        CHECK(strcmp(order, "hr") == 0);
        CHECK_EQ(fin_waitset_remove_source(w, &source), -ENOENT);
        fin_sem_post(&goes_on);
    }
    CHECK(strcmp(order, "hrew") == 0);
    CHECK_EQ(fin_waitset_add_source(w, &source, removes_itself, w), 0);
    CHECK_EQ(fin_waitset_remove_source_wait_nc(w, &source), 0); // nobody to wait for
    fin_waitset_close(w);
}

int main(void) {
    in_order();
    from_outside();
    return 0;
}
