// SPDX-License-Identifier: BSD-2-Clause
// For threads_everything.c: how an AWE waits for others, which may be of other threads, and what these do about it.
#ifndef FIN_TESTS_CORE_THREADS_EVERYTHING_H
#define FIN_TESTS_CORE_THREADS_EVERYTHING_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <fin/thc.h>

#include "check.h"

enum { LASTING = 3, GUESTS = 3, STRANGER = LASTING + GUESTS, BOXES, TABLE = 4 };

static unsigned seed;
static __thread int me = -1;
static __thread bool quiet; // nothing is cancelled from here on
static atomic_long put, handled, withdrawn, contests, lost_races;

#define HOLDS(condition)                                                                                                    \
    do {                                                                                                                    \
        if (!(condition)) {                                                                                                 \
            fprintf(stderr, "%s:%d: not so: %s\nseed %u, thread %d\n", __FILE__, __LINE__, #condition, seed, me);           \
            abort();                                                                                                        \
        }                                                                                                                   \
    } while (0)

static unsigned next_random(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 9;
}
static unsigned below(unsigned *state, unsigned n) { return next_random(state) % n; }

static void passes(unsigned *state, unsigned most) {
    for (volatile unsigned n = below(state, most); n > 0; n--) {
    }
}

// ---- boxes, one of each thread: what its server is to wake

enum kind { SINGLE, CONTEST, SAVED_AWE };
struct entry {
    struct entry *next;
    enum kind kind;
    struct fin_awe *awe;
    int thread, box;
    uint32_t id;              // of one that is saved
    uint64_t wanted, payload; // plain: who wakes writes, who waits reads
    bool listed, cancelled;   // with the latch
};

static struct box {
    struct fin_latch latch;
    bool open, stops;
    struct entry *first, **last;
    struct fin_awe *server; // waits
} boxes[BOXES];

static void box_open(struct box *b) {
    fin_latch_acquire(&b->latch);
    HOLDS(!b->open && !b->first && !b->server);
    b->open = true;
    b->stops = false;
    b->last = &b->first;
    fin_latch_release(&b->latch);
}

// Latch held. Returns the server, if it waits: who gets it has to wake it.
static struct fin_awe *box_put(struct box *b, struct entry *e) {
    struct fin_awe *server = b->server;
    b->server = NULL;
    e->next = NULL;
    e->listed = true;
    *b->last = e;
    b->last = &e->next;
    put++;
    return server;
}

// Latch held.
static void box_take(struct box *b, struct entry *e) {
    struct entry **p = &b->first;
    while (*p != e)
        p = &(*p)->next;
    *p = e->next;
    if (!e->next)
        b->last = p;
    e->listed = false;
}

static void wake_server(struct fin_awe *server) {
    if (server)
        HOLDS(fin_schedule(server) == 0);
}

// ---- one waits for one (ac figure 9): who takes the entry wakes the AWE, and nobody else

struct put_then {
    struct box *box;
    struct fin_awe *server;
    struct contest *contest; // to be shown
    unsigned *state;
};

static void contest_show(unsigned *state, struct contest *c);

static void release(void *p) {
    struct put_then *t = p;
    struct fin_awe *server = t->server;
    if (t->contest)
        contest_show(t->state, t->contest);
    fin_latch_release(&t->box->latch);
    passes(t->state, 100);
    wake_server(server);
}

static void cancel_single(void *p) {
    struct entry *e = p;
    struct box *b = &boxes[e->box];
    fin_latch_acquire(&b->latch);
    bool mine = e->listed;
    if (mine)
        box_take(b, e);
    fin_latch_release(&b->latch);
    if (!mine)
        return; // its server has it
    withdrawn++;
    e->cancelled = true;
    HOLDS(fin_schedule(e->awe) == 0);
}

// Returns 0, -ECANCELED, or -EAGAIN where the box is not there.
static __attribute__((noinline)) int wait_single(unsigned *state, int box, bool cancellable) {
    struct box *b = &boxes[box];
    struct fin_cancel_item item;
    const int thread = me;
    struct entry e;
    if (cancellable && fin_cancelled())
        return -ECANCELED;
    memset(&e, 0, sizeof e);
    e.thread = me;
    e.box = box;
    e.wanted = next_random(state);
    fin_latch_acquire(&b->latch);
    if (!b->open) {
        fin_latch_release(&b->latch);
        return -EAGAIN;
    }
    struct put_then then = {b, box_put(b, &e), NULL, state};
    if (cancellable)
        fin_cancel_item_add(&item, cancel_single, &e);
    fin_suspend_then(&e.awe, release, &then);
    HOLDS(me == thread && !e.listed);
    bool removed = cancellable && fin_cancel_item_remove(&item);
    HOLDS(e.cancelled ? !removed && fin_cancelled() : e.payload == e.wanted * 3 + 1);
    HOLDS(!cancellable || removed || fin_cancelled());
    bool was_cancelled = e.cancelled;
    memset(&e, 0x5a, sizeof e);
    return was_cancelled ? -ECANCELED : 0;
}

// ---- many try to wake one, which stays where it is until all of them have tried

struct place;
struct contest {
    struct entry e;
    struct place *place; // where it is shown
    int thread;
    bool saved; // nobody may schedule it but by thc.h, on its thread
    atomic_int refs, tries, won, directed, unknown;
    int resumed;
};

static struct place {
    struct fin_latch latch;
    struct contest *contest;
} table[TABLE];

static void contest_show(unsigned *state, struct contest *c) {
    for (unsigned n = below(state, TABLE), i = 0; i < TABLE && !c->place; i++, n++) {
        struct place *p = &table[n % TABLE];
        fin_latch_acquire(&p->latch);
        if (!p->contest) {
            p->contest = c;
            c->place = p;
        }
        fin_latch_release(&p->latch);
    }
}

static struct contest *contest_find(unsigned *state) {
    struct place *p = &table[below(state, TABLE)];
    fin_latch_acquire(&p->latch);
    struct contest *c = p->contest;
    if (c)
        c->refs++;
    fin_latch_release(&p->latch);
    return c;
}

static void was_told(struct contest *c, int r) {
    HOLDS(r == 0 || r == -EALREADY);
    HOLDS(r != 0 || !c->saved);
    if (r == 0)
        c->won++;
    else
        lost_races++;
}

// By an id of the thread's own: it names the AWE while that waits. Another thread's AWE it does not.
static void race_by_id(struct contest *c) {
    uint32_t id;
    HOLDS(fin_awe_id_create(&id) == 0);
    int r = fin_awe_id_set(id, c->e.awe);
    HOLDS(r == (c->thread != me || c->resumed ? -EINVAL : 0));
    if (r == 0) {
        c->directed++;
        HOLDS(fin_awe_id_get(id) == c->e.awe && fin_yield_to_id(id) == 0 && c->resumed);
    }
    HOLDS(fin_awe_id_get(id) == NULL && fin_yield_to_id(id) == -ESRCH);
    HOLDS(fin_awe_id_remove(id) == 0 && fin_awe_id_remove(id) == -ESRCH);
}

static void race_directed(struct contest *c) {
    if (c->thread != me) {
        was_told(c, fin_yield_to(c->e.awe));
        return;
    }
    int before = c->resumed, r = fin_yield_to(c->e.awe);
    HOLDS(r == (before ? -EALREADY : 0) && c->resumed);
    if (r == 0)
        c->directed++;
}

// Two who try at the same moment, if another one comes soon.
static void meets(unsigned *state, struct contest *c) {
    int n = ++c->tries;
    for (unsigned looks = below(state, 3000); looks > 0 && n % 2 && c->tries == n; looks--) {
    }
    passes(state, 30);
}

// One who has to wake it does not try by id what is another thread's.
static void race(unsigned *state, struct contest *c, bool has_to) {
    meets(state, c);
    switch (below(state, me == STRANGER ? 2 : has_to && c->thread != me ? 5 : 6)) {
    case 0:
    case 1:
        was_told(c, fin_schedule(c->e.awe));
        break;
    case 2:
        was_told(c, fin_schedule_front(c->e.awe));
        break;
    case 3:
        race_directed(c);
        break;
    case 4:
        c->unknown++;
        (below(state, 2) ? THCSchedule : THCScheduleBack)(c->e.awe);
        break;
    default:
        race_by_id(c);
    }
    c->refs--;
}

static void cancel_contest(void *p) {
    struct contest *c = p;
    if (!c->saved)
        was_told(c, fin_schedule(c->e.awe));
}

// Deep in the stack: the AWE that all look at lies above.
static __attribute__((noinline)) void await_racers(struct contest *c) {
    while (c->refs > 0) {
        sched_yield();
        fin_yield();
    }
}

static void contest_end(struct contest *c, int thread) {
    HOLDS(me == thread && c->resumed++ == 0);
    if (!c->place)
        return;
    fin_latch_acquire(&c->place->latch);
    c->place->contest = NULL;
    fin_latch_release(&c->place->latch);
}

static __attribute__((noinline)) void wait_contested(unsigned *state, int box, bool cancellable) {
    struct box *b = &boxes[box];
    struct fin_cancel_item item;
    struct contest c;
    const int thread = me;
    memset(&c, 0, sizeof c);
    c.e.kind = CONTEST;
    c.thread = c.e.thread = me;
    c.e.box = box;
    fin_latch_acquire(&b->latch);
    if (!b->open || (cancellable && fin_cancelled())) {
        fin_latch_release(&b->latch);
        return;
    }
    c.refs = 1; // the server's
    contests++;
    struct put_then then = {b, box_put(b, &c.e), &c, state};
    if (cancellable)
        fin_cancel_item_add(&item, cancel_contest, &c);
    fin_suspend_then(&c.e.awe, release, &then);
    contest_end(&c, thread);
    if (cancellable)
        HOLDS(fin_cancel_item_remove(&item) || fin_cancelled());
    await_racers(&c);
    HOLDS(c.won <= 1 && c.won + c.directed + c.unknown >= 1);
    memset(&c.e, 0x5a, sizeof c.e);
}

// It is on no list: a directed yield of its own thread brings it back, or thc.h.
static __attribute__((noinline)) void wait_saved(void) {
    struct box *b = &boxes[me];
    struct contest c;
    const int thread = me;
    memset(&c, 0, sizeof c);
    c.e.kind = SAVED_AWE;
    c.saved = true;
    c.thread = c.e.thread = c.e.box = me;
    HOLDS(fin_awe_id_create(&c.e.id) == 0);
    fin_latch_acquire(&b->latch);
    HOLDS(b->open);
    c.refs = 1;
    contests++;
    struct fin_awe *server = box_put(b, &c.e);
    fin_latch_release(&b->latch);
    wake_server(server); // of this thread: it does not run yet
    HOLDS(fin_yield_and_save_no_dispatch(c.e.id) == 0);
    contest_end(&c, thread);
    await_racers(&c);
    HOLDS(c.won == 0 && c.directed + c.unknown >= 1);
    HOLDS(fin_awe_id_remove(c.e.id) == 0);
}
#endif
