// SPDX-License-Identifier: BSD-2-Clause
// The low-level interface (ac 4.3, figure 7) from any thread: each function is the first that a thread calls, outside any
// finish block, and concerns the AWEs of another where it can.
#include <pthread.h>
#include <stdatomic.h>

#include <fin.h>

#include "check.h"

static struct fin_awe *mine; // of main
static _Atomic(struct fin_awe *) theirs;
static atomic_int fired;

static void count(void *unused) {
    (void)unused;
    fired++;
}

static void publish(void *slot) { atomic_store(&theirs, *(struct fin_awe **)slot); }

static void *suspends(void *slot) {
    fin_suspend(slot);
    return slot;
}
static void *suspends_then(void *unused) {
    struct fin_awe *slot;
    fin_suspend_then(&slot, publish, &slot);
    return unused;
}
static void *yields(void *unused) {
    fin_yield(); // alone
    return unused;
}
static void *yields_to(void *unused) {
    CHECK_EQ(fin_yield_to(mine), 0);
    CHECK_EQ(fin_yield_to(mine), -EALREADY);
    return unused;
}
static void *schedules(void *unused) {
    CHECK_EQ(fin_schedule(mine), 0);
    CHECK_EQ(fin_schedule_front(mine), -EALREADY);
    return unused;
}
static void *schedules_front(void *unused) {
    CHECK_EQ(fin_schedule_front(mine), 0);
    CHECK_EQ(fin_schedule(mine), -EALREADY);
    return unused;
}
static void *adds_and_removes(void *unused) {
    struct fin_cancel_item item;
    fin_cancel_item_add(&item, count, NULL);
    CHECK(!fin_cancel_item_ran(&item));
    CHECK(fin_cancel_item_remove(&item));
    CHECK(!fin_cancel_item_remove(&item));
    fin_finish {
        fin_cancel_item_add(&item, count, NULL);
        fin_cancel();
        CHECK(!fin_cancel_item_remove(&item));
    }
    return unused;
}
static void *asks(void *unused) {
    CHECK(!fin_cancelled());
    return unused;
}
static void *has_no_ids(void *unused) {
    CHECK(fin_awe_id_get(1) == NULL);
    CHECK_EQ(fin_yield_to_id(1), -ESRCH);
    return unused;
}

int main(void) {
    // the caller's AWE waits for what the thread does
    void *(*wakers[])(void *) = {yields_to, schedules, schedules_front};
    for (int i = 0; i < 3; i++) {
        pthread_t t;
        fin_shared int woken = 0;
        fin_finish {
            fin_async {
                fin_suspend(&mine);
                woken++;
            };
            CHECK_EQ(pthread_create(&t, NULL, wakers[i], NULL), 0);
            CHECK_EQ(pthread_join(t, NULL), 0);
            CHECK_EQ(woken, 0);
        }
        CHECK_EQ(woken, 1);
    }
    // what concerns the thread alone
    void *(*others[])(void *) = {yields, adds_and_removes, asks, has_no_ids};
    for (int i = 0; i < 4; i++) {
        pthread_t t;
        CHECK_EQ(pthread_create(&t, NULL, others[i], NULL), 0);
        CHECK_EQ(pthread_join(t, NULL), 0);
    }
    CHECK_EQ(fired, 1);
    // and an idle thread is woken by one that runs no AWEs at the time
    void *(*sleepers[])(void *) = {suspends, suspends_then};
    for (int i = 0; i < 2; i++) {
        pthread_t t;
        struct fin_awe *a;
        CHECK_EQ(pthread_create(&t, NULL, sleepers[i], &theirs), 0);
        while (!(a = atomic_exchange(&theirs, NULL)))
            CHECK_EQ(fin_sleep(FIN_MS / 10), 0);
        CHECK_EQ(i == 0 ? fin_schedule(a) : fin_yield_to(a), 0);
        CHECK_EQ(pthread_join(t, NULL), 0);
    }
    return 0;
}
