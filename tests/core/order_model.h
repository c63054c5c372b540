// SPDX-License-Identifier: BSD-2-Clause
// For order_everything.c: the dispatcher of one thread as the papers describe it (ac 4.1 and 4.3, ac-extensions 3 to 5.2).
// An ASYNC puts its caller's continuation aside and runs the body; what is aside goes on, innermost first, when the body
// blocks or ends, before anything that is queued. A yield goes to the tail of the queue. A directed yield puts all that is
// aside to the head of the queue, the innermost first, and itself to the tail. When the last body of a block ends, who waits
// at the block's end runs at once. Here an AWE is a number, and nothing of Fin is looked at.
#ifndef FIN_TESTS_CORE_ORDER_MODEL_H
#define FIN_TESTS_CORE_ORDER_MODEL_H

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <fin/thc.h>

#include "check.h"

enum { AWES = 256, BLOCKS = 512, IDS = 8, ITEMS = 48, SEMS = 2, LOCKS = 3, QUEUES = 2, EVENTS = 2, ENTRIES = 192 };
enum { OF_AWE = 1000, OF_BLOCK = 2000 }; // entries of a block's list beside items: waits that can be cancelled, blocks
enum state { UNUSED, RUNS, ASIDE, QUEUED, SUSPENDED, SAVED, BUSY, ENDED };
enum object { NONE, END, SEM, LOCK, COND, TURN, COUNT };
// what a callback does beside being called
enum deed { NOTHING, SCHEDULES, TO_FRONT, REMOVES, CANCELS, DEEDS };

static const char *const state_names[] = {"unused", "runs", "aside", "queued", "suspended", "saved", "busy", "ended"};

struct row {
    int n, at[AWES];
};

// What an AWE is in, innermost last: a block, a function, one with an item in its frame, a try block, a catch clause.
enum place_kind { A_BLOCK, A_CALL, AN_ITEM, A_TRY, A_CATCH };
enum { FRAMES = 10 };
struct frame {
    enum place_kind kind;
    int what; // block, item, or what has been caught
};

struct model_awe {
    enum state state;
    int block, base; // innermost block that it has open; the one that its body belongs to, -1 for the first
    int id, result;
    enum object waits; // where BUSY
    int object;
    bool cancellable;
    uint64_t count;
    bool counted, ends; // its body has blocked; it is ending, in whatever blocks
    int steps;          // that it still has
    int depth;
    struct frame frames[FRAMES];
    int thrown; // by it, and not caught yet
    bool nests;         // its code can start an async directly inside itself
    unsigned in_frames; // items
    unsigned locks;     // that it holds
    int entered;        // the queue that it has an entry in, -1: none
    int left_behind;
    bool known;          // `at` is where it is
    struct fin_awe *at;  // the real one, while it waits
};

struct model_block {
    int parent, owner, count, n, entry[ENTRIES]; // newest last
    bool open, nc, asked, lists;
    int timed; // 0; 1: for ever; 2: from the start; 3: soon
    uint64_t due;
    bool late;
    int failed; // what has left a body first
};

struct model_item {
    bool used, listed, ran;
    int block;
    bool in_frame; // of an AWE, which removes it before its end
    enum deed deed;
    int who;
    bool was_there; // when its frame was left
    struct fin_cancel_item *at, own;
};

// What a callback has to do when it is called.
struct due {
    int item; // -1: what runs after a suspension
    enum deed deed;
    int who, result;
};

static struct model {
    struct model_awe awes[AWES];
    struct model_block blocks[BLOCKS];
    struct model_item items[ITEMS];
    int awe_count, block_count, current, left; // `left`: operations
    struct row queue, aside;
    struct {
        uint32_t value;
        bool live;
        int names;
    } ids[IDS];
    int sems[SEMS];
    int holder[LOCKS];
    uint64_t counts[EVENTS];
    struct row at_sem[SEMS], at_lock[LOCKS], at_cond[LOCKS], in_queue[QUEUES], at_event[EVENTS];
    struct due dues[4 * ENTRIES];
    int due_first, due_last;
} m;

// ---- what has happened, for who reads of a failure

enum { KEPT = 60, LENGTH = 100 };
static char happened[KEPT][LENGTH];
static unsigned happenings;
static unsigned seed;

static __attribute__((format(printf, 1, 2))) void note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(happened[happenings++ % KEPT], LENGTH, format, args);
    va_end(args);
}

static __attribute__((noreturn)) void fails(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: not so: %s\nseed %u; the last %d things:\n", file, line, what, seed, KEPT);
    for (unsigned i = happenings < KEPT ? 0 : happenings - KEPT; i < happenings; i++)
        fprintf(stderr, "  %s\n", happened[i % KEPT]);
    fprintf(stderr, "current %d; queue:", m.current);
    for (int i = 0; i < m.queue.n; i++)
        fprintf(stderr, " %d", m.queue.at[i]);
    fprintf(stderr, "; aside:");
    for (int i = 0; i < m.aside.n; i++)
        fprintf(stderr, " %d", m.aside.at[i]);
    fprintf(stderr, "\n");
    for (int i = 0; i < m.awe_count; i++)
        if (m.awes[i].state != ENDED)
            fprintf(stderr, "  awe %d %s, waits %d of %d, block %d, base %d\n", i, state_names[m.awes[i].state],
                    m.awes[i].waits, m.awes[i].object, m.awes[i].block, m.awes[i].base);
    abort();
}

#define HOLDS(condition)                                                                                                    \
    do {                                                                                                                    \
        if (!(condition))                                                                                                   \
            fails(__FILE__, __LINE__, #condition);                                                                          \
    } while (0)

static unsigned random_state;
static unsigned next_random(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 9;
}
static int below(int n) { return (int)(next_random() % (unsigned)n); }
static bool one_in(int n) { return below(n) == 0; }

// ---- rows

static void row_insert(struct row *r, int i, int x) {
    HOLDS(r->n < AWES);
    memmove(&r->at[i + 1], &r->at[i], (size_t)(r->n - i) * sizeof *r->at);
    r->at[i] = x;
    r->n++;
}
static void row_back(struct row *r, int x) { row_insert(r, r->n, x); }
static int row_take(struct row *r, int i) {
    int x = r->at[i];
    r->n--;
    memmove(&r->at[i], &r->at[i + 1], (size_t)(r->n - i) * sizeof *r->at);
    return x;
}
static int row_find(const struct row *r, int x) {
    for (int i = 0; i < r->n; i++)
        if (r->at[i] == x)
            return i;
    return -1;
}
static void row_remove(struct row *r, int x) {
    int i = row_find(r, x);
    HOLDS(i >= 0);
    row_take(r, i);
}

// ---- the lists of blocks

static bool entry_remove(int b, int entry) {
    struct model_block *k = &m.blocks[b];
    for (int i = 0; i < k->n; i++)
        if (k->entry[i] == entry) {
            k->n--;
            memmove(&k->entry[i], &k->entry[i + 1], (size_t)(k->n - i) * sizeof *k->entry);
            return true;
        }
    return false;
}

// A block comes to the list of the one around it when it has something itself.
static void entry_add(int b, int entry) {
    for (;; entry = OF_BLOCK + b, b = m.blocks[b].parent) {
        struct model_block *k = &m.blocks[b];
        bool known = k->lists;
        HOLDS(k->n < ENTRIES);
        k->entry[k->n++] = entry;
        k->lists = true;
        if (known || k->parent < 0 || k->nc)
            return;
    }
}

static bool is_cancelled(int b) {
    for (; b >= 0; b = m.blocks[b].parent) {
        if (m.blocks[b].asked)
            return true;
        if (m.blocks[b].nc)
            return false;
    }
    return false;
}

// ---- running

static void becomes_queued(int a, bool front) {
    m.awes[a].state = QUEUED;
    row_insert(&m.queue, front ? 0 : m.queue.n, a);
}

static void runs(int a) {
    struct model_awe *w = &m.awes[a];
    if (w->id >= 0 && m.ids[w->id].names == a)
        m.ids[w->id].names = -1;
    w->id = -1;
    w->known = false;
    w->waits = NONE;
    w->state = RUNS;
    m.current = a;
}

static void counts_as_blocked(int a) {
    if (m.awes[a].base >= 0 && !m.awes[a].counted) {
        m.awes[a].counted = true;
        m.blocks[m.awes[a].base].count++;
    }
}

static void closes(int b) {
    struct model_block *k = &m.blocks[b];
    for (int i = 0; i < k->n; i++)
        if (k->entry[i] < OF_AWE)
            m.items[k->entry[i]].listed = false;
    k->n = 0;
    k->open = false;
    if (k->parent >= 0)
        entry_remove(k->parent, OF_BLOCK + b);
}

// Who arrives at the end of a block waits there for its bodies, or leaves it.
static bool leaves_block(int a) {
    struct model_awe *w = &m.awes[a];
    struct model_block *b = &m.blocks[w->block];
    if (b->count > 0) {
        counts_as_blocked(a);
        w->state = BUSY;
        w->waits = END;
        return false;
    }
    closes(w->block);
    w->block = b->parent;
    if (!w->ends) {
        HOLDS(w->depth > 0 && w->frames[w->depth - 1].kind == A_BLOCK);
        w->depth--;
    }
    w->thrown = w->thrown ? w->thrown : b->failed;
    return true;
}

static void go_on(void);

// The body of `a`, which runs, ends.
static void ends(int a) {
    struct model_awe *w = &m.awes[a];
    w->state = ENDED;
    if (!w->counted) {
        HOLDS(m.aside.n > 0);
        go_on();
        return;
    }
    HOLDS(m.aside.n == 0);
    struct model_block *b = &m.blocks[w->base];
    int owner = b->owner;
    if (--b->count == 0 && m.awes[owner].state == BUSY && m.awes[owner].waits == END && m.awes[owner].block == w->base) {
        runs(owner);
        leaves_block(owner);
    } else {
        go_on();
    }
}

// One that is ending goes through the blocks that it has open.
static void goes_on_ending(int a) {
    struct model_awe *w = &m.awes[a];
    while (w->block != w->base)
        if (!leaves_block(a)) {
            go_on();
            return;
        }
    ends(a);
}

// The running one has stopped or ended. Who is aside goes on; otherwise the first of the queue will, when it arrives.
static void go_on(void) {
    m.current = -1;
    if (m.aside.n > 0)
        runs(row_take(&m.aside, m.aside.n - 1));
}

static void unwinds(int a);

// As far as it goes without the program.
static void goes_on_alone(void) {
    while (m.current >= 0 && (m.awes[m.current].ends || m.awes[m.current].thrown))
        (m.awes[m.current].ends ? goes_on_ending : unwinds)(m.current);
}

static void dispatches(void) {
    for (goes_on_alone(); m.current < 0; goes_on_alone()) {
        HOLDS(m.queue.n > 0);
        runs(row_take(&m.queue, 0));
    }
}

// The same while somebody who can go on alone is next.
static void dispatches_alone(void) {
    for (goes_on_alone(); m.current < 0 && m.queue.n > 0; goes_on_alone()) {
        const struct model_awe *next = &m.awes[m.queue.at[0]];
        if (!next->ends && !next->thrown)
            return;
        runs(row_take(&m.queue, 0));
    }
}

// The running one stops, in whatever way, before go_on() or a directed yield.
static void stops(enum state state) {
    struct model_awe *w = &m.awes[m.current];
    counts_as_blocked(m.current);
    w->state = state;
    w->result = 0;
}

// A directed yield to `to`: the one that stopped is `a`.
static void goes_to(int to, int a) {
    for (int i = 0; m.aside.n > 0; i++) {
        int p = row_take(&m.aside, m.aside.n - 1);
        counts_as_blocked(p);
        m.awes[p].state = QUEUED;
        row_insert(&m.queue, i, p);
    }
    if (m.awes[to].state == QUEUED)
        row_remove(&m.queue, to);
    if (m.awes[a].state == QUEUED)
        row_back(&m.queue, a);
    becomes_queued(to, true);
    m.current = -1;
}

// ---- objects: who is let go is queued, with the object

static void no_longer_cancellable(int a) {
    struct model_awe *w = &m.awes[a];
    if (w->cancellable)
        entry_remove(w->block, OF_AWE + a);
    w->cancellable = false;
}

static void granted(int a, int result) {
    no_longer_cancellable(a);
    m.awes[a].result = result;
    becomes_queued(a, false);
}

static void waits_for(enum object what, int object, bool cancellable) {
    struct model_awe *w = &m.awes[m.current];
    stops(BUSY);
    w->waits = what;
    w->object = object;
    w->cancellable = cancellable;
    if (cancellable)
        entry_add(w->block, OF_AWE + m.current);
}

static void gets_lock(int l, int a, int result) {
    no_longer_cancellable(a);
    if (m.holder[l] < 0) {
        m.holder[l] = a;
        m.awes[a].locks |= 1u << l;
        granted(a, result);
        return;
    }
    m.awes[a].result = result;
    m.awes[a].waits = LOCK;
    row_back(&m.at_lock[l], a);
}

static void unlocks(int l) {
    m.awes[m.holder[l]].locks &= ~(1u << l);
    m.holder[l] = -1;
    if (m.at_lock[l].n > 0) {
        int a = row_take(&m.at_lock[l], 0);
        gets_lock(l, a, m.awes[a].result);
    }
}

// Its wait is over, for a cancel that has taken it off its block's list.
static void stops_waiting(int a) {
    struct model_awe *w = &m.awes[a];
    w->cancellable = false;
    if (w->waits != TURN)
        row_remove(w->waits == SEM    ? &m.at_sem[w->object]
                   : w->waits == LOCK ? &m.at_lock[w->object]
                   : w->waits == COND ? &m.at_cond[w->object]
                                      : &m.at_event[w->object],
                   a);
    if (w->waits == COND)
        gets_lock(w->object, a, -ECANCELED);
    else
        granted(a, -ECANCELED);
}

// ---- cancellation

static void cancels(int b);

// The model hears of the time by it.
static bool tells_time(const struct model_item *t) { return t->listed && m.blocks[t->block].timed == 3; }

// What a callback does, and is to see.
static void does(int item, enum deed deed, int who) {
    struct due *d = &m.dues[m.due_last++];
    HOLDS(m.due_last < 4 * ENTRIES);
    d->item = item;
    d->deed = deed;
    d->who = who;
    d->result = 0;
    if ((deed == SCHEDULES || deed == TO_FRONT) && m.awes[who].known) {
        enum state s = m.awes[who].state;
        d->result = s == SUSPENDED ? 0 : -EALREADY;
        HOLDS(s == SUSPENDED || s == QUEUED || s == SAVED);
        if (s == SUSPENDED)
            becomes_queued(who, deed == TO_FRONT);
    } else if (deed == REMOVES && m.items[who].used && !tells_time(&m.items[who])) {
        if (m.items[who].listed)
            entry_remove(m.items[who].block, who);
        d->result = m.items[who].listed;
        m.items[who].listed = false;
    } else if (deed == CANCELS && who > 0 && m.blocks[who].open) {
        cancels(who);
    } else {
        d->deed = NOTHING;
    }
}

static void cancels_within(int b) {
    struct model_block *k = &m.blocks[b];
    k->asked = true;
    while (k->n > 0) {
        int e = k->entry[--k->n];
        if (e >= OF_BLOCK) {
            cancels_within(e - OF_BLOCK);
        } else if (e >= OF_AWE) {
            stops_waiting(e - OF_AWE);
        } else {
            m.items[e].listed = false;
            m.items[e].ran = true;
            does(e, m.items[e].deed, m.items[e].who);
        }
    }
}

static void cancels(int b) {
    if (!m.blocks[b].asked)
        cancels_within(b);
}

// ---- exceptions

// It may have been removed or have run, and its block may have ended.
static void item_leaves_frame(int a, int item) {
    struct model_item *t = &m.items[item];
    t->was_there = t->listed;
    if (t->listed)
        entry_remove(t->block, item);
    t->listed = t->in_frame = t->used = false;
    m.awes[a].in_frames--;
    HOLDS(m.awes[a].frames[--m.awes[a].depth].kind == AN_ITEM);
}

// What it has thrown leaves what it is in, one after the other, up to a try block or the end of its body. A block is
// cancelled, and its bodies are waited for.
static void unwinds(int a) {
    struct model_awe *w = &m.awes[a];
    while (w->depth > 0 && w->thrown) {
        struct frame *f = &w->frames[w->depth - 1];
        if (f->kind == A_TRY) {
            f->kind = A_CATCH;
            f->what = w->thrown;
            w->thrown = 0;
        } else if (f->kind == AN_ITEM) {
            item_leaves_frame(a, f->what);
        } else if (f->kind == A_BLOCK) {
            cancels(f->what);
            if (!leaves_block(a)) {
                go_on();
                return;
            }
        } else {
            w->depth--;
        }
    }
    if (!w->thrown)
        return;
    HOLDS(w->base >= 0);
    if (!m.blocks[w->base].failed)
        m.blocks[w->base].failed = w->thrown;
    w->thrown = 0;
    cancels(w->base);
    ends(a);
}

// What it would see in flight where it is.
static int handles(const struct model_awe *w) {
    for (int i = w->depth; i-- > 0;)
        if (w->frames[i].kind == A_CATCH)
            return w->frames[i].what;
    return 0;
}
#endif
