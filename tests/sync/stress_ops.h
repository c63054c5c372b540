// SPDX-License-Identifier: BSD-2-Clause
// For stress.c: what its clients do, each in steps between which it waits, with its stack or without.
#ifndef FIN_TESTS_SYNC_STRESS_OPS_H
#define FIN_TESTS_SYNC_STRESS_OPS_H

#include "stress_waits.h"

static bool then_waits(struct client *c, int what, int phase) {
    c->what = what;
    c->phase = phase;
    c->nc = below(&c->random, 3) == 0;
    return true;
}

// ---- having objects, several at once

static void has(struct client *c, int what) {
    if (what == TURN)
        HOLDS(c->ticket == o->lines[TURN].uses);
    get(&o->lines[what], &c->places[what]);
    c->has |= 1u << what;
}

static void leave_queue(struct client *c, bool had_turn) {
    int n = fin_queue_leave(&o->queue, &c->entry);
    HOLDS(n >= 0 && (n >= 1 || !had_turn));
    memset(&c->entry, 0x5a, sizeof c->entry);
    o->counted += (unsigned)n;
}

static void gives_up(struct client *c, int what) {
    leave(&o->lines[what]);
    c->has &= ~(1u << what);
    c->in_frames &= ~(1u << what);
    if (what == TURN)
        fin_event_advance(&o->turn, 1);
    else if (what == LINE)
        leave_queue(c, true);
    else if (what == MANY || what == ONE)
        HOLDS(fin_sem_post(what == MANY ? &o->many : &o->one) == 0);
    else
        fin_mutex_unlock(lock_of(what));
}

static bool tries(struct client *c, int what) {
    int r = what == MANY  ? fin_sem_trywait(&o->many)
            : what == ONE ? fin_sem_trywait(&o->one)
                          : fin_mutex_trylock(lock_of(what));
    HOLDS(r == 0 || r == (what >= LOCK ? -EBUSY : -EAGAIN));
    if (r == 0 && what >= LOCK)
        c->in_frames |= 1u << what;
    return r == 0;
}

// Comes to the object; does it wait?
static bool comes(struct client *c, int what, int phase) {
    come(&o->lines[what], &c->places[what]);
    if (what == TURN)
        c->ticket = fin_seq_ticket(&o->tickets);
    if (what == LINE) {
        o->entered++;
        fin_queue_enter(&o->queue, &c->entry);
    }
    if (what >= MANY && below(&c->random, 5) == 0 && tries(c, what)) {
        has(c, what);
        return false;
    }
    return then_waits(c, what, phase);
}

// As many locks as the table of what frames hold grows for.
static void takes_own(struct client *c) {
    c->owns = 1 + below(&c->random, 20);
    c->own = calloc(c->owns, sizeof *c->own);
    for (unsigned i = 0; i < c->owns; i++)
        if (below(&c->random, 2))
            fin_mutex_lock_nc(&c->own[i]);
        else
            HOLDS(fin_mutex_trylock(&c->own[i]) == 0);
    c->in_frames |= 1u << OWN;
}

static void gives_own_up(struct client *c) {
    unsigned first = below(&c->random, c->owns);
    for (unsigned i = 0; i < c->owns; i++)
        fin_mutex_unlock(&c->own[(first + i) % c->owns]);
    free(c->own);
    c->own = NULL;
    c->in_frames &= ~(1u << OWN);
}

static void gives_all_up(struct client *c) {
    if (c->own)
        gives_own_up(c);
    while (c->has) {
        int what = (int)below(&c->random, OBJECTS);
        if (c->has & 1u << what)
            gives_up(c, what);
    }
}

// The wait was cancelled: nothing has been taken, but a promise is kept. Does it wait once more?
static bool is_cancelled(struct client *c, int what) {
    if (what == LINE && below(&c->random, 2)) {
        leave_queue(c, false);
        return false;
    }
    if (what == TURN || what == LINE) {
        then_waits(c, what, 1);
        c->nc = true;
        return true;
    }
    return below(&c->random, 2) && comes(c, what, 1);
}

static const struct op *any_within(struct client *c);

static bool step_holds(struct client *c) {
    if (c->phase == 0) {
        do
            c->plan = 1u << below(&c->random, BUFFER) | 1u << below(&c->random, BUFFER) | 1u << below(&c->random, BUFFER);
        while (below(&c->random, 2) && (c->plan & (c->plan - 1)));
    } else if (c->result == 0) {
        has(c, c->what);
    } else if (is_cancelled(c, c->what)) {
        return true;
    }
    while (c->plan) {
        int what = __builtin_ctz(c->plan);
        c->plan &= c->plan - 1;
        if (comes(c, what, 1))
            return true;
    }
    if (below(&c->random, 4)) {
        gives_all_up(c);
        return false;
    }
    c->op = any_within(c);
    c->phase = c->result = 0;
    return c->op->step(c);
}

// ---- the buffer

static bool must_be_let(struct client *c) {
    int side = c->side;
    if (!must_wait(side)) {
        c->has &= ~(1u << BUFFER);
        c->in_frames &= ~(1u << BUFFER);
        move_and_tell(side, &c->random);
        return false;
    }
    c->waits = ++o->waits[side];
    o->waiting[side]++;
    leave(&o->lines[BUFFER]);
    c->has &= ~(1u << BUFFER);
    return then_waits(c, ITEM + side, 2);
}

static void has_buffer_again(struct client *c) {
    HOLDS(++o->lines[BUFFER].inside == 1);
    c->has |= 1u << BUFFER;
    HOLDS(o->waiting[c->side]-- > 0);
    if (c->result != 0)
        return;
    HOLDS(++o->woken[c->side] <= o->due[c->side]);
    if (o->orderly) {
        HOLDS(c->waits > o->served[c->side]);
        o->served[c->side] = c->waits;
    }
}

static bool step_moves(struct client *c) {
    switch (c->phase) {
    case 0:
        c->side = (int)below(&c->random, 2);
        if (comes(c, BUFFER, 1))
            return true;
        break;
    case 1:
        if (c->result != 0)
            return false;
        has(c, BUFFER);
        break;
    default:
        has_buffer_again(c);
        if (c->result != 0) {
            gives_up(c, BUFFER);
            return false;
        }
    }
    return must_be_let(c);
}

// ---- an event count

static bool step_awaits(struct client *c) {
    if (c->phase == 0) {
        uint64_t wanted = o->wanted;
        c->count = fin_event_read(&o->count) + below(&c->random, 5);
        while (wanted < c->count && !atomic_compare_exchange_weak(&o->wanted, &wanted, c->count)) {
        }
        return then_waits(c, COUNT, 1);
    }
    see_count();
    HOLDS(c->result != 0 || fin_event_read(&o->count) >= c->count);
    return false;
}

// ---- gifts

static bool offer(struct gift *g) {
    fin_latch_acquire(&o->latch);
    int i = 0;
    while (i < SLOTS && o->gifts[i])
        i++;
    if (i < SLOTS)
        o->gifts[i] = g;
    fin_latch_release(&o->latch);
    return i < SLOTS;
}

static bool take_back(struct gift *g) {
    fin_latch_acquire(&o->latch);
    int i = 0;
    while (i < SLOTS && o->gifts[i] != g)
        i++;
    if (i < SLOTS)
        o->gifts[i] = NULL;
    fin_latch_release(&o->latch);
    return i < SLOTS;
}

static void has_gift(struct client *c) {
    struct gift *g = c->gift;
    HOLDS(g->given || c->result != 0);
    if (is_mutex(g) && (c->in_frames & 1u << GIFT || below(&c->random, 2)))
        fin_mutex_unlock(&g->mutex); // or it ends as it is, as nobody's frames have it
    c->in_frames &= ~(1u << GIFT);
    if (g->kind == A_QUEUE && c->result == 0)
        HOLDS(fin_queue_leave(&g->queue, &g->second) == 1);
    memset(g, 0x5a, sizeof *g);
    free(g);
}

// Who gives an event need not know whether somebody waits; so only that wait may be cancelled.
static bool step_receives(struct client *c) {
    if (c->phase == 0) {
        c->gift = new_gift(below(&c->random, GIFT_KINDS));
        if (c->gift->kind == OWN_MUTEX)
            c->in_frames |= 1u << GIFT;
        if (!offer(c->gift)) {
            c->result = -ECANCELED; // it is as if it had been taken back
            has_gift(c);
            return false;
        }
        then_waits(c, GIFT, 1);
    } else if (c->result == 0 || take_back(c->gift)) {
        has_gift(c);
        return false;
    }
    struct gift *g = c->gift;
    for (unsigned n = below(&c->random, 100); g->kind == AN_EVENT && n; n--)
        HOLDS(fin_event_read(&g->event) == 0 || g->given);
    c->nc |= g->kind != AN_EVENT || c->result != 0;
    return true;
}

// Only a cancel ends this.
static bool step_is_doomed(struct client *c) {
    c->doomed = c->phase == 0;
    if (c->doomed) {
        c->gift = new_gift(below(&c->random, GIFT_KINDS));
        if (c->gift->kind == OWN_MUTEX)
            c->in_frames |= 1u << GIFT;
        then_waits(c, GIFT, 1);
        c->nc = false;
        return true;
    }
    HOLDS(c->result == -ECANCELED);
    has_gift(c);
    return false;
}

// ---- threads

static void of_thread(void *arg) {
    struct client *c = arg;
    me = THREADS; // it has no place in lines
    c->made = 1;
    fin_finish {
        fin_async {
            fin_yield();
            c->made++;
        };
        fin_mutex_lock_nc(lock_of(INNER));
        HOLDS(o->lines[INNER].inside == 0);
        fin_yield();
        fin_mutex_unlock(lock_of(INNER));
    }
    c->made += 10;
}

static _Atomic int threads_left;

static bool step_joins(struct client *c) {
    if (c->phase == 0) {
        if (threads_left-- <= 0)
            return false;
        HOLDS(fin_thread_start(&c->thread, of_thread, c) == 0);
        return then_waits(c, JOIN, 1);
    }
    if (c->result != 0) {
        then_waits(c, JOIN, 1);
        c->nc = true;
        return true;
    }
    HOLDS(c->made == 12);
    return false;
}

#endif
