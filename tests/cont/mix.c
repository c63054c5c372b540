// SPDX-License-Identifier: BSD-2-Clause
// Random sequences of what fin/cont.h and fin/finish_on.h have, between a dozen AWEs, also while another thread wakes them:
// no wake, and none of those who wait in the queue, for a mutex or for the end of a block, is lost. A block ends after what
// was started in it. An argument says how many sequences.
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

enum { AWES = 12, STEPS = 200, DEEP = 3 };

static struct one {
    struct fin_awe *self;
    int left;
    bool lives;
    int open, inside[DEEP]; // blocks, and what has been started in each and has not ended
    unsigned cancelled;     // which of them
    struct fin_finish_on block[DEEP];
    struct fin_sync_on on;
} all[AWES];
static struct fin_mutex mutex = FIN_MUTEX_INIT;
static unsigned seed;
static int ended;
static bool cancelling, stop;

static unsigned below(unsigned *state, unsigned n) {
    *state = *state * 1103515245 + 12345;
    return (*state >> 16) % n;
}

static void step(void *state, int result);

static void locked(void *state, int result) {
    if (result == 0) {
        if (below(&seed, 2))
            fin_yield();
        fin_mutex_unlock(&mutex);
    }
    step(state, result);
}

// ---- AWEs that live in a block

struct within {
    struct one *o;
    int depth, turns;
};

static void lives_within(void *state, int result) {
    struct within w = *(struct within *)state;
    (void)result;
    CHECK(w.o->open > w.depth && w.o->inside[w.depth] > 0);
    if (w.turns == 1 && below(&seed, 2))
        fin_yield();
    if (w.turns-- > 0)
        fin_yield_on(lives_within, &w, sizeof w);
    w.o->inside[w.depth]--;
    fin_cont_end();
}

static void start_within(struct one *o) {
    struct within w = {o, o->open - 1, (int)below(&seed, 4)};
    if (o->open == 0)
        return;
    CHECK(fin_async_cont_beside(lives_within, &w, sizeof w));
    o->inside[o->open - 1]++;
}

static void open_block(struct one *o) {
    if (o->open == DEEP || fin_finish_open(&o->block[o->open]) != 0)
        return;
    o->inside[o->open] = 0;
    o->cancelled &= ~(1U << o->open++);
}

static void closed(struct one *o) {
    CHECK_EQ(o->inside[--o->open], 0);
    o->cancelled &= (1U << o->open) - 1;
}

static void closed_on(void *state, int result) {
    CHECK_EQ(result, 0);
    closed(*(struct one **)state);
    step(state, 0);
}

static void close_block(struct one *o) {
    if (o->open == 0)
        return;
    struct fin_finish_on *f = &o->block[o->open - 1];
    switch (below(&seed, 3)) {
    case 0:
        if (fin_finish_close(f) == 0)
            closed(o);
        else
            CHECK(o->inside[o->open - 1] > 0);
        break;
    case 1:
        CHECK_EQ(fin_finish_close_wait(f), 0);
        closed(o);
        break;
    default:
        fin_finish_close_on(f, closed_on, &o, sizeof o);
    }
}

static void cancel_block(struct one *o) {
    if (o->open == 0)
        return;
    int which = (int)below(&seed, (unsigned)o->open);
    fin_finish_cancel(&o->block[which]);
    o->cancelled |= 1U << which;
}

static void end(struct one *o) {
    if (o->open > 0)
        fin_finish_close_on(&o->block[o->open - 1], closed_on, &o, sizeof o);
    o->lives = false;
    ended++;
    fin_cont_end();
}

// Goes on as `to`, where it may: that is one's work, or its continuation.
static struct one *hand_over(struct one *o, struct one *to) {
    struct fin_awe *a = to->self;
    int r = below(&seed, 2) ? fin_thread_handoff(step, &o, sizeof o, a) : fin_thread_handoff_if(step, step, &o, sizeof o, a);
    if (r != 0) {
        CHECK(r == -EINVAL || r == -ESRCH);
        return o;
    }
    CHECK(fin_awe_self() == a && *(struct one **)fin_cont_state(a) == to && to->lives);
    if (fin_cont_of(a) != step || below(&seed, 3) == 0)
        fin_call_continuation(fin_cont_of(a), 0);
    return to;
}

static void step(void *state, int result) {
    struct one *o = *(struct one **)state;
    CHECK(o->lives && (result == 0 || (result == -ECANCELED && (cancelling || o->cancelled))));
    __atomic_store_n(&o->self, fin_awe_self(), __ATOMIC_RELAXED);
    if (result != 0 && !cancelling) // out of what is cancelled
        fin_finish_close_on(&o->block[o->open - 1], closed_on, &o, sizeof o);
    while (result == 0 && o->left-- > 0) {
        struct one *other = &all[below(&seed, AWES)];
        bool there = other->lives && other->self;
        switch (below(&seed, 20)) {
        case 0:
            fin_block_on(step, &o, sizeof o);
            break;
        case 1:
            fin_yield_on(step, &o, sizeof o);
            break;
        case 2:
            fin_mutex_lock_on(&mutex, &o->on, locked, &o, sizeof o);
            break;
        case 3:
            fin_call_continuation(step, 0);
            break;
        case 4:
            fin_yield();
            break;
        case 5:
            CHECK(!there || fin_switch_context(step, &o, sizeof o, NULL, other->self) == -EINVAL);
            break;
        case 6:
            (void)(there && fin_schedule(other->self));
            break;
        case 7:
            (void)(there && fin_yield_to(other->self));
            break;
        case 8:
        case 9:
            open_block(o);
            break;
        case 10:
            close_block(o);
            break;
        case 11:
        case 12:
        case 13:
            start_within(o);
            break;
        case 14:
            if (below(&seed, 8) == 0)
                cancel_block(o);
            break;
        default:
            o = there ? hand_over(o, other) : o;
        }
        CHECK(fin_awe_self() == o->self);
    }
    end(o);
}

// Also those that have ended: their records are there as long as their thread.
static void wakes(void *unused) {
    unsigned own = 1;
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        struct fin_awe *a = __atomic_load_n(&all[below(&own, AWES)].self, __ATOMIC_RELAXED);
        if (a)
            fin_schedule(a);
        sched_yield();
    }
}

static void wake_until(int n) {
    while (ended < n) {
        for (int i = 0; i < AWES; i++)
            if (all[i].lives && all[i].self)
                fin_schedule(all[i].self);
        fin_yield();
    }
}

static void sequence(bool threads) {
    struct fin_thread_handle t;
    ended = 0;
    cancelling = stop = false;
    fin_finish {
        for (int i = 0; i < AWES; i++) {
            struct one *o = &all[i];
            *o = (struct one){.left = 1 + (int)below(&seed, STEPS), .lives = true};
            CHECK(fin_async_cont(step, &o, sizeof o));
        }
        if (threads)
            CHECK_EQ(fin_thread_start(&t, wakes, NULL), 0);
        wake_until(1 + (int)below(&seed, AWES));
        cancelling = true;
        fin_cancel();
        wake_until(AWES);
        __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
        if (threads)
            fin_thread_join_nc(&t);
    }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 200;
    for (int i = 1; i <= n; i++) {
        seed = (unsigned)i;
        alarm(60);                         // where somebody is lost
        sequence(i % 10 == 0 && !ON_TSAN); // which would see the records of those that have ended
    }
    return 0;
}
