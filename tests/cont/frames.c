// SPDX-License-Identifier: BSD-2-Clause
// Frames in which something lies that others know of are not given up: a cancel item, an entry of a queue. What lies
// elsewhere is no hindrance, nor what others have; and many AWEs at a time may hold a mutex each.
#include <fin.h>

#include "check.h"

static void never(void *p, int result) {
    (void)p;
    (void)result;
    CHECK(false);
}

static void refused(void) {
    CHECK_EQ(fin_yield_on(never, NULL, 0), -EBUSY); // where it is accepted, that runs
    CHECK_EQ(fin_block_on(never, NULL, 0), -EBUSY);
    CHECK_EQ(fin_block_on_nc(never, NULL, 0), -EBUSY);
}

static int ended;
static void over(void *p, int result) {
    (void)p;
    CHECK_EQ(result, 0);
    ended++;
    fin_cont_end();
}

static int ran;
static void runs(void *item) {
    (void)item;
    ran++;
}

// ---- cancel items

static struct fin_cancel_item elsewhere;

static FIN_BLOCKING void has_items(bool blocks) {
    struct fin_cancel_item item, second;
    fin_cancel_item_add(&elsewhere, runs, NULL);
    fin_cancel_item_add(&item, runs, &item);
    refused();
    fin_cancel_item_add(&second, runs, &second);
    if (blocks) {
        fin_yield(); // and one that it had before it blocked
        refused();
    }
    CHECK(fin_cancel_item_remove(&item));
    refused();
    CHECK(fin_cancel_item_remove(&second));
}

static void lazy(void *p) {
    has_items(false);
    fin_yield_on(over, p, 0);
}
static void blocked(void *p) {
    has_items(true);
    fin_yield_on(over, p, 0);
}
static void returns(void *p) { // ends as any body does
    struct fin_cancel_item item;
    (void)p;
    fin_cancel_item_add(&item, runs, &item);
    refused();
    CHECK(fin_cancel_item_remove(&item));
}
static void returns_later(void *p) {
    struct fin_cancel_item item;
    (void)p;
    fin_cancel_item_add(&item, runs, &item);
    fin_yield();
    CHECK(fin_cancel_item_remove(&item));
}

static void step(void *p, int result) {
    CHECK_EQ(result, 0);
    has_items(true);
    CHECK(fin_cancel_item_remove(&elsewhere));
    fin_yield_on(over, p, 0);
}

// An async directly inside, which blocks: the outer body's frame is kept, and its note of items with it.
static void outer_body(void) {
    fin_finish {
        fin_async {
            struct fin_cancel_item item;
            fin_cancel_item_add(&item, runs, &item);
            fin_async { fin_yield(); };
            refused();
            CHECK(fin_cancel_item_remove(&item));
            fin_yield();
        };
    }
}

// The same where the outer body ends, or goes on without a stack, while the inner one is blocked.
static FIN_BLOCKING void had_an_item(void) {
    struct fin_cancel_item item;
    fin_cancel_item_add(&item, runs, &item);
    CHECK(fin_cancel_item_remove(&item));
}
static void outer_body_ends(void) {
    fin_finish {
        fin_async {
            had_an_item();
            fin_async { fin_yield(); };
        };
        fin_async_eager {
            had_an_item();
            fin_async { fin_yield(); };
        };
        fin_async {
            had_an_item();
            fin_async { fin_yield(); };
            fin_yield_on(over, NULL, 0);
        };
    }
}

// What a step had does not keep it from handing over.
static struct fin_awe *partner;
static void partner_step(void *p, int result) {
    CHECK_EQ(result, 0);
    over(p, result);
}
static void begin_partner(void *p, int result) {
    CHECK_EQ(result, 0);
    partner = fin_awe_self();
    fin_block_on(partner_step, p, 0);
}
static void hands_over(void *p, int result) {
    CHECK_EQ(result, 0);
    had_an_item();
    CHECK_EQ(fin_sleep(1), 0);
    CHECK_EQ(fin_thread_handoff(over, p, 0, partner), 0);
    partner_step(NULL, 0); // this is the partner now
}
static void handed_over(void) {
    fin_finish {
        CHECK(fin_async_cont(begin_partner, NULL, 0) != NULL);
        struct fin_awe *first = fin_async_cont(hands_over, NULL, 0);
        while (fin_schedule(first) != 0) // when it waits with `over`
            CHECK_EQ(fin_sleep(FIN_MS), 0);
    }
}

static void of_a_cancelled_block(void *p) {
    struct fin_cancel_item item;
    fin_cancel_item_add(&item, runs, &item); // runs at once, or when the block is cancelled
    fin_yield();
    CHECK(fin_cancel_item_ran(&item));
    CHECK_EQ(fin_yield_on(over, p, 0), 0);
}

static void items(void) {
    void (*const bodies[])(void *) = {lazy, blocked, returns, returns_later};
    for (int i = 0; i < 4; i++) {
        fin_finish {
            fin_async_call(bodies[i], NULL);
            fin_cancel_item_remove(&elsewhere);
        }
        fin_finish {
            fin_async_eager_call(bodies[i], NULL);
            fin_cancel_item_remove(&elsewhere);
        }
    }
    fin_finish {
        CHECK(fin_async_cont(step, NULL, 0) != NULL);
        CHECK(fin_async_cont(over, NULL, 0) != NULL);
    }
    outer_body();
    outer_body_ends();
    handed_over();
    CHECK_EQ(ran, 0);
    fin_finish_as(all) {
        fin_async_call(of_a_cancelled_block, NULL);
        fin_cancel_as(all);
        fin_async_call(of_a_cancelled_block, NULL);
    }
    CHECK_EQ(ran, 2);
}

// ---- turns in a queue

static struct fin_queue q = FIN_QUEUE_INIT;
static struct fin_queue_entry kept;

static FIN_BLOCKING void has_a_turn(void) {
    struct fin_queue_entry e;
    fin_queue_enter(&q, &e);
    refused();
    fin_queue_await_turn_nc(&q, &e);
    refused();
    fin_queue_leave(&q, &e);
}

static void turns(void *p) {
    has_a_turn();
    fin_queue_enter(&q, &kept);
    fin_yield_on(over, p, 0);
}

static void step_with_a_turn(void *p, int result) {
    CHECK_EQ(result, 0);
    has_a_turn();
    fin_yield_on(over, p, 0);
}

static void leaves(void *entry) { fin_queue_leave(&q, entry); }
static void left_by_another(void *p) { // thread
    struct fin_queue_entry e;
    struct fin_thread_handle t;
    fin_queue_enter(&q, &e);
    refused();
    CHECK_EQ(fin_thread_start(&t, leaves, &e), 0);
    fin_thread_join_nc(&t);
    fin_yield_on(over, p, 0);
}

// ---- as many holders as there are AWEs

enum { MANY = 3000, SOME = 100 };
static struct fin_mutex mutexes[MANY];
static bool go_on;

static void keeps(void *m) {
    fin_mutex_lock_nc(m);
    while (!go_on)
        fin_yield();
    refused();
    fin_mutex_unlock(m);
    fin_yield_on(over, NULL, 0);
}

static void asks(void *p, int result) {
    CHECK_EQ(result, 0);
    for (int i = 0; i < SOME; i++) {
        fin_mutex_lock_nc(&mutexes[0]);
        refused();
        fin_mutex_unlock(&mutexes[0]);
    }
    fin_yield_on(over, p, 0); // what the others hold does not count
}

static void many(void) {
    for (int round = 0; round < 2; round++) {
        go_on = false;
        fin_finish {
            for (int i = 1; i < MANY; i++)
                fin_async_call(keeps, &mutexes[i]);
            CHECK(fin_async_cont(asks, NULL, 0) != NULL);
            fin_yield();
            go_on = true;
        }
    }
    for (int i = 0; i < MANY; i++)
        CHECK(!mutexes[i].locked);
}

int main(void) {
    items();
    CHECK_EQ(ended, 11);
    fin_finish {
        fin_async_call(turns, NULL);
        fin_queue_leave(&q, &kept);
        CHECK(fin_async_cont(step_with_a_turn, NULL, 0) != NULL);
        fin_async_call(left_by_another, NULL);
    }
    CHECK_EQ(ended, 14);
    many();
    CHECK_EQ(ended, 14 + 2 * MANY);
    return 0;
}
