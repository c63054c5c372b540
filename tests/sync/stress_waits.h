// SPDX-License-Identifier: BSD-2-Clause
// For stress.c: its clients, and how one waits: in each way that there is for what it waits for, and with what it is told
// compared with what is known.
#ifndef FIN_TESTS_SYNC_STRESS_WAITS_H
#define FIN_TESTS_SYNC_STRESS_WAITS_H

#include "stress.h"

struct op {
    const char *name;
    bool (*step)(struct client *c); // goes on after what it waited for: does it wait for more, c->what?
};

struct client {
    struct group *group;
    unsigned random, ops, turn;
    const struct op *op;
    int phase, what, result;
    bool nc, was_cancelled, rested, can_be_late;
    bool beside, doomed; // started in a block that another has opened; waits for what nobody gives
    unsigned plan, has, in_frames; // of the objects, bits
    struct place places[OBJECTS];
    uint64_t ticket, count;
    struct fin_queue_entry entry;
    int side;
    unsigned waits;
    struct gift *gift;
    struct fin_mutex *own;
    unsigned owns;
    struct fin_thread_handle thread;
    unsigned made;
    struct fin_cancel_item item, later;
    bool item_ran, later_ran;
    struct fin_awe *sleeper, *self;
    struct fin_finish_on block;
    bool opened;
    struct fin_sync_on on;
    struct fin_on io;
};

static _Atomic unsigned granted[WAITS], cancelled[WAITS], refusals, led;
static unsigned all_clients;
static const struct op idle = {"none", NULL};

static void look_at(const struct client *c) {
    about = (struct about){c->op->name, names[c->what], c->phase, c->result};
    now++;
}

// It runs in a finish block of a frame, or holds what a frame must not leave.
static void refused(struct client *c, int result, unsigned frames) {
    HOLDS(result == -EBUSY && frames);
    HOLDS(c->turn == now);
    refusals++;
}

#define EITHER(function, ...) (c->nc ? (function##_nc(__VA_ARGS__), 0) : function(__VA_ARGS__))
static int with_stack(struct client *c) {
    int what = c->what;
    struct gift *g = c->gift;
    switch (what) {
    case TURN:
        return EITHER(fin_event_await, &o->turn, c->ticket);
    case LINE:
        return EITHER(fin_queue_await_turn, &o->queue, &c->entry);
    case MANY:
        return EITHER(fin_sem_wait, &o->many);
    case ONE:
        return EITHER(fin_sem_wait, &o->one);
    case LOCK:
    case INNER:
    case BUFFER:
        return EITHER(fin_mutex_lock, lock_of(what));
    case ITEM:
    case ROOM:
        return EITHER(fin_cond_wait, &o->conds[what - ITEM], lock_of(BUFFER));
    case COUNT:
        return EITHER(fin_event_await, &o->count, c->count);
    case JOIN:
        return EITHER(fin_thread_join, &c->thread);
    case CLOSE:
        return fin_finish_close_wait(&c->block);
    }
    switch (g->kind) {
    case AN_EVENT:
        return EITHER(fin_event_await, &g->event, 1);
    case A_SEM:
        return EITHER(fin_sem_wait, &g->sem);
    case A_QUEUE:
        return EITHER(fin_queue_await_turn, &g->queue, &g->second);
    default:
        return EITHER(fin_mutex_lock, &g->mutex);
    }
}

static void woken(void *state, int result);

#define REST &c->on, woken, &c, size
#define EITHER_ON(function, ...) (c->nc ? function##_nc(__VA_ARGS__, REST) : function(__VA_ARGS__, REST))
static int without_stack(struct client *c, size_t size) {
    int what = c->what;
    struct gift *g = c->gift;
    switch (what) {
    case TURN:
        return EITHER_ON(fin_event_await_on, &o->turn, c->ticket);
    case LINE:
        return EITHER_ON(fin_queue_await_turn_on, &o->queue, &c->entry);
    case MANY:
        return EITHER_ON(fin_sem_wait_on, &o->many);
    case ONE:
        return EITHER_ON(fin_sem_wait_on, &o->one);
    case LOCK:
    case INNER:
    case BUFFER:
        return EITHER_ON(fin_mutex_lock_on, lock_of(what));
    case ITEM:
    case ROOM:
        return EITHER_ON(fin_cond_wait_on, &o->conds[what - ITEM], lock_of(BUFFER));
    case COUNT:
        return EITHER_ON(fin_event_await_on, &o->count, c->count);
    case JOIN:
        c->nc = false;
        return fin_thread_ended_on(&c->thread, REST);
    case CLOSE:
        return fin_finish_close_on(&c->block, woken, &c, size);
    }
    switch (g->kind) {
    case AN_EVENT:
        return EITHER_ON(fin_event_await_on, &g->event, 1);
    case A_SEM:
        return EITHER_ON(fin_sem_wait_on, &g->sem);
    case A_QUEUE:
        return EITHER_ON(fin_queue_await_turn_on, &g->queue, &g->second);
    default:
        return EITHER_ON(fin_mutex_lock_on, &g->mutex);
    }
}

// What the frames have that gives up its stack; the mutex of a condition variable goes with it.
static unsigned kept_in_frames(const struct client *c) {
    return c->what == ITEM || c->what == ROOM ? c->in_frames & ~(1u << BUFFER) : c->in_frames;
}

static void begins_to_wait(struct client *c) {
    c->was_cancelled = c->what != CLOSE && fin_cancelled();
    c->turn = now;
}

// The block around the wait is the one that was asked.
static void is_told(struct client *c, int result) {
    c->result = about.result = result;
    HOLDS(result == 0 || (result == -ECANCELED && !c->nc) || (result == 1 && c->what == CLOSE && c->can_be_late));
    if (c->was_cancelled && !c->nc)
        HOLDS(result == -ECANCELED);
    if (result == -ECANCELED)
        HOLDS(fin_cancelled());
    if (result != -ECANCELED)
        granted[c->what]++;
    else
        cancelled[c->what]++;
}

static bool is_mutex(const struct gift *g) { return g->kind == A_MUTEX || g->kind == OWN_MUTEX; }

static void told_with_stack(struct client *c, int result) {
    if (c->was_cancelled && !c->nc)
        HOLDS(c->turn == now); // at once
    look_at(c);
    is_told(c, result);
    bool locks = (c->what >= LOCK && c->what <= BUFFER) || (c->what == GIFT && is_mutex(c->gift));
    if (locks && result == 0)
        c->in_frames |= 1u << c->what;
    if ((c->what == ITEM || c->what == ROOM) && (c->nc || !c->was_cancelled))
        c->in_frames |= 1u << BUFFER;
}

static void waits_with_stack(struct client *c) {
    begins_to_wait(c);
    told_with_stack(c, with_stack(c));
}

// Some time after the wait has begun, its block is cancelled.
static void waits_to_be_cancelled(struct client *c) {
    fin_shared unsigned turns = below(&c->random, 12);
    fin_finish_as(around) {
        fin_async {
            while (turns--)
                fin_yield();
            fin_cancel_as(around);
        };
        waits_with_stack(c);
    }
}

static void waits_in_time(struct client *c) {
    fin_timeout(below(&c->random, 60) * FIN_US) {
        waits_with_stack(c);
    }
}

static void waits_shielded(struct client *c) {
    fin_finish_nc {
        waits_with_stack(c);
        HOLDS(c->result == 0);
    }
}

static bool is_explicit(void) { return fin_awe_self() != NULL; }

static void rests(void *state, int result);

// What is refused has not happened: frames have what they had.
static void asks_too_much(struct client *c) {
    bool nc = c->nc;
    c->turn = now;
    HOLDS(without_stack(c, FIN_CONT_STATE + 1) == -E2BIG);
    c->nc = nc;
    if (c->in_frames)
        refused(c, fin_yield_on(rests, &c, sizeof c), c->in_frames);
}

// Of this thread, those who wait without a stack, or have not yet been told.
static __thread struct client *waiting[SLOTS];

static void no_longer_waits(const struct client *c) {
    for (int i = 0; i < SLOTS; i++)
        waiting[i] = waiting[i] == c ? NULL : waiting[i];
}

static void waits_without_stack(struct client *c) {
    bool nc = c->nc;
    c->self = fin_awe_self();
    if (c->self)
        waiting[below(&c->random, SLOTS)] = c;
    memset(&c->on, 0x5a, sizeof c->on);
    begins_to_wait(c);
    refused(c, without_stack(c, sizeof c), kept_in_frames(c));
    c->nc = nc;
    no_longer_waits(c);
}

// Will a cancel come that reaches it?
static bool must_be_cancelled(const struct client *c) {
    return c->opened ? c->can_be_late : c->group->dies && !c->beside;
}

static unsigned any_way(struct client *c) {
    unsigned how = below(&c->random, 9);
    if (c->doomed && !must_be_cancelled(c))
        return below(&c->random, 2) ? 1 : 3;
    return c->doomed && how == 2 ? 0 : how;
}

// Returns only where it keeps its stack.
static void waits(struct client *c) {
    unsigned how = any_way(c);
    if (below(&c->random, 4) == 0)
        asks_too_much(c);
    if (how >= 5)
        waits_without_stack(c);
    if (how == 1 && c->what != CLOSE)
        waits_in_time(c);
    else if (how == 2 && c->what != CLOSE)
        waits_shielded(c);
    else if (how == 3 && c->what != CLOSE)
        waits_to_be_cancelled(c);
    else
        waits_with_stack(c);
}

#endif
