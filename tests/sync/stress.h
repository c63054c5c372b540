// SPDX-License-Identifier: BSD-2-Clause
// For stress.c: the objects that its AWEs share, and what is known of each. What several threads write without having the
// object is atomic; all else is plain, so that TSan sees who is where another is.
#ifndef FIN_TESTS_SYNC_STRESS_H
#define FIN_TESTS_SYNC_STRESS_H

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include <fin.h>

#include "check.h"

// What an AWE can have, in the order in which one may take several; then what else it waits for.
enum { TURN, LINE, MANY, ONE, LOCK, INNER, BUFFER, OBJECTS, ITEM = OBJECTS, ROOM, COUNT, GIFT, JOIN, CLOSE, WAITS, OWN };
static const char *const names[] = {"turn", "line", "many",  "one",  "lock", "inner", "buffer",
                                    "item", "room", "count", "gift", "join", "close", "nothing"};
enum { WORKERS = 3, MAIN = WORKERS, THREADS, TOKENS = 3, OWED = 2, SLOTS = 6, CAPACITY = 3, PARKS = 4, TOGETHER = 2000 };

static unsigned seed;         // of the round
static __thread int me;       // the number of the thread
static __thread unsigned now; // counts what the clients of this thread have done, so that it is seen whether others ran

// Who is being looked at.
static __thread struct about {
    const char *op, *what;
    int phase, result;
} about = {"-", "-", 0, 0};

static _Noreturn void fails(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: not so: %s\nseed %u, thread %d, op %s, phase %d, waited for %s: %d\n", file, line, what, seed,
            me, about.op, about.phase, about.what, about.result);
    abort();
}

#define HOLDS(condition)                                                                                                    \
    do {                                                                                                                    \
        if (!(condition))                                                                                                   \
            fails(__FILE__, __LINE__, #condition);                                                                          \
    } while (0)

static unsigned next_random(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 9;
}
static unsigned below(unsigned *state, unsigned n) { return next_random(state) % n; }

// ---- first come, first served

// Each who comes to an object has a number among those of its thread, and knows which of each thread stand in line by then:
// of its own thread all that came before, of another those of whom that thread has said so, which it does when they have
// blocked. Once it has been served, none of these may be served any more.
struct line {
    _Atomic int most, inside;
    _Atomic unsigned granted; // as clients count it
    unsigned uses;            // as counted by who has it alone, as is the next
    unsigned passed[THREADS];
    unsigned came[THREADS];           // each written by its thread
    _Atomic unsigned in_line[THREADS]; // likewise
};

struct place {
    unsigned number, before[THREADS];
};

static void come(struct line *l, struct place *p) {
    for (int t = 0; t < THREADS; t++)
        p->before[t] = t == me ? l->came[t] : atomic_load_explicit(&l->in_line[t], memory_order_acquire);
    p->number = ++l->came[me];
}

static void said_in_line(struct line *l) {
    atomic_store_explicit(&l->in_line[me], l->came[me], memory_order_release);
}

// ---- what lasts as long as a wait: whoever lets the waiter go must not touch it when that one runs

enum gift_kind { AN_EVENT, A_SEM, A_MUTEX, A_QUEUE, OWN_MUTEX, GIFT_KINDS };
struct gift {
    enum gift_kind kind;
    bool given; // plain: who has it must see this
    union {
        struct fin_event event;
        struct fin_sem sem;
        struct fin_mutex mutex;
        struct fin_queue queue;
    };
    struct fin_queue_entry first, second;
};

static struct gift *new_gift(unsigned kind) {
    struct gift *g = malloc(sizeof *g);
    memset(g, 0x5a, sizeof *g);
    g->kind = (enum gift_kind)kind;
    g->given = false;
    switch (g->kind) {
    case AN_EVENT:
        fin_event_init(&g->event);
        break;
    case A_SEM:
        fin_sem_init(&g->sem, 0);
        break;
    case A_MUTEX:
        g->mutex = (struct fin_mutex){.locked = true}; // nobody's frames have it
        break;
    case A_QUEUE:
        fin_queue_init(&g->queue);
        fin_queue_enter(&g->queue, &g->first);
        fin_queue_enter(&g->queue, &g->second);
        break;
    default: // the frames of who is to get it have it: it is unlocked for them by another thread, and they get it again
        fin_mutex_init(&g->mutex);
        fin_mutex_lock_nc(&g->mutex);
    }
    return g;
}

static bool is_waited_for(struct gift *g) {
    struct fin_waiters *w = g->kind == A_SEM     ? &g->sem.waiters
                            : g->kind == A_QUEUE ? &g->queue.waiters
                                                 : &g->mutex.waiters;
    fin_latch_acquire(&w->latch);
    bool is = g->kind == A_QUEUE ? g->second.waiter != NULL : w->first != NULL;
    fin_latch_release(&w->latch);
    return is;
}

static void give(struct gift *g) {
    g->given = true;
    switch (g->kind) {
    case AN_EVENT:
        fin_event_advance(&g->event, 1);
        break;
    case A_SEM:
        HOLDS(fin_sem_post(&g->sem) == 0);
        break;
    case A_QUEUE:
        HOLDS(fin_queue_leave(&g->queue, &g->first) == 1);
        break;
    default:
        fin_mutex_unlock(&g->mutex);
    }
}

// ---- all of a round

struct client;
struct group {
    struct fin_event bell; // another thread asks for the end, or all have ended
    int left;
    bool dies; // it will be cancelled
    unsigned used;
    struct client *clients;
};

static struct objects {
    struct line lines[OBJECTS];
    struct fin_seq tickets;
    struct fin_event turn;
    struct fin_queue queue;
    _Atomic unsigned entered, counted; // those of the queue; what leaving it said
    struct fin_sem many, one;
    struct fin_mutex locks[3]; // LOCK, INNER, BUFFER

    // a buffer, whose mutex is the last of these
    bool orderly; // signals only with the mutex
    struct fin_cond conds[2]; // ITEM, ROOM
    int waiting[2];
    unsigned waits[2], served[2];
    _Atomic unsigned due[2], woken[2]; // as many as may have been woken; as were
    unsigned items[CAPACITY], pushed, popped;

    struct fin_event count;
    _Atomic uint64_t wanted, seen;

    struct fin_latch latch; // of the rest
    struct gift *gifts[SLOTS];
    struct group *groups[SLOTS];
    struct client *sleepers[SLOTS];
    long latched;
    _Atomic long latches, began, ended;
} *o;

// Who gets it is in it, and where one at a time is, nobody that stood in line before him comes after him.
static void get(struct line *l, const struct place *p) {
    l->granted++;
    HOLDS(++l->inside <= l->most);
    if (l == &o->lines[MANY])
        return;
    HOLDS(p->number > l->passed[me]);
    for (int t = 0; t < THREADS; t++)
        if (l->passed[t] < p->before[t])
            l->passed[t] = p->before[t];
    l->uses++;
}

static void leave(struct line *l) { l->inside--; }

static struct fin_mutex *lock_of(int what) { return &o->locks[what - LOCK]; }

static void open_objects(unsigned *state) {
    o = calloc(1, sizeof *o);
    for (int i = 0; i < OBJECTS; i++)
        o->lines[i].most = i == MANY ? -OWED : 1;
    fin_seq_init(&o->tickets);
    fin_event_init(&o->turn);
    fin_queue_init(&o->queue);
    fin_sem_init(&o->many, -OWED);
    fin_sem_init(&o->one, 1);
    for (int i = 0; i < 3; i++)
        fin_mutex_init(&o->locks[i]);
    for (int i = 0; i < 2; i++)
        fin_cond_init(&o->conds[i]);
    fin_event_init(&o->count);
    fin_latch_init(&o->latch);
    o->orderly = below(state, 2);
}

static bool is_empty(const struct fin_waiters *w) { return !w->first && !w->last && !w->latch.held; }

static void close_lines(void) {
    for (int i = 0; i < OBJECTS; i++)
        HOLDS(o->lines[i].inside == 0 && (i == MANY || o->lines[i].uses == o->lines[i].granted));
    HOLDS(is_empty(&o->turn.waiters) && fin_seq_read(&o->tickets) == fin_event_read(&o->turn));
    HOLDS(fin_event_read(&o->turn) == o->lines[TURN].uses);
    HOLDS(is_empty(&o->queue.waiters) && !o->queue.first && !o->queue.last && o->entered == o->counted);
    HOLDS(is_empty(&o->many.waiters) && o->many.value == TOKENS);
    HOLDS(is_empty(&o->one.waiters) && o->one.value == 1);
    for (int i = 0; i < 3; i++)
        HOLDS(is_empty(&o->locks[i].waiters) && !o->locks[i].locked && !o->locks[i].hold);
}

static void close_objects(void) {
    close_lines();
    for (int i = 0; i < 2; i++)
        HOLDS(is_empty(&o->conds[i].waiters) && o->waiting[i] == 0 && o->woken[i] <= o->due[i]);
    HOLDS(o->pushed - o->popped <= CAPACITY);
    for (; o->popped != o->pushed; o->popped++)
        HOLDS(o->items[o->popped % CAPACITY] == o->popped);
    HOLDS(is_empty(&o->count.waiters) && fin_event_read(&o->count) >= o->seen);
    for (int i = 0; i < SLOTS; i++)
        HOLDS(!o->gifts[i] && !o->groups[i] && !o->sleepers[i]);
    HOLDS(o->latched == o->latches && o->began == o->ended);
    free(o);
}

// ---- the buffer; its mutex is held

static bool must_wait(int side) { return side == 0 ? o->pushed == o->popped : o->pushed - o->popped == CAPACITY; }

static void move(int side) {
    if (side == 1) {
        o->items[o->pushed % CAPACITY] = o->pushed;
        o->pushed++;
    } else {
        HOLDS(o->items[o->popped % CAPACITY] == o->popped);
        o->popped++;
    }
}

// Who waits on the other side is told, with the mutex or when it has been given up.
static void tell(int side, unsigned *state, int waiting) {
    struct fin_cond *c = &o->conds[!side];
    bool all = below(state, 8) == 0;
    o->due[!side] += all ? (unsigned)waiting : 1;
    if (o->orderly && o->due[!side] > o->woken[!side] + (unsigned)waiting) // what wakes nobody is not kept
        o->due[!side] = o->woken[!side] + (unsigned)waiting;
    (all ? fin_cond_broadcast : fin_cond_signal)(c);
}

// Gives the mutex up after a move.
static void move_and_tell(int side, unsigned *state) {
    bool before = o->orderly || below(state, 2);
    move(side);
    int waiting = o->waiting[!side];
    if (before)
        tell(side, state, waiting);
    leave(&o->lines[BUFFER]);
    fin_mutex_unlock(lock_of(BUFFER));
    if (!before)
        tell(side, state, 1000); // more may wait by now
}

// ---- what any thread does for the others

static void see_count(void) {
    uint64_t seen = o->seen, count = fin_event_read(&o->count);
    HOLDS(count >= seen);
    while (seen < count && !atomic_compare_exchange_weak(&o->seen, &seen, count)) {
    }
}

// Only as far as somebody waits for it: nobody who was forgotten is woken by a later call.
static void advance(unsigned *state) {
    see_count();
    if (fin_event_read(&o->count) < o->wanted)
        fin_event_advance(&o->count, 1 + below(state, 2));
}

static void give_any(unsigned *state) {
    unsigned i = below(state, SLOTS);
    fin_latch_acquire(&o->latch);
    struct gift *g = o->gifts[i];
    if (g && (g->kind == AN_EVENT || is_waited_for(g)))
        o->gifts[i] = NULL;
    else
        g = NULL;
    fin_latch_release(&o->latch);
    if (g)
        give(g);
}

static void ring(unsigned *state) {
    unsigned i = below(state, SLOTS);
    fin_latch_acquire(&o->latch);
    if (o->groups[i])
        fin_event_advance(&o->groups[i]->bell, 1);
    fin_latch_release(&o->latch);
}

static void add_token(void) {
    o->lines[MANY].most++;
    HOLDS(fin_sem_post(&o->many) == 0);
}

static void count_latched(int times) {
    for (int i = 0; i < times; i++) {
        fin_latch_acquire(&o->latch);
        o->latched++;
        fin_latch_release(&o->latch);
    }
    o->latches += times;
}

#endif
