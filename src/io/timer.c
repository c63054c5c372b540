// SPDX-License-Identifier: BSD-2-Clause
// Timers of a thread: rows and a pairing heap through the timers themselves, so that starting one cannot fail; the order of
// equal times is that of their start. Sleep, and the finish block with a timeout, are timers.
//
// Most programs have few timeouts and use them again and again: then each timer is due after all that were started with the
// same one, and the end of a row is its place, without a look at others in memory that nobody used for long. The heap takes
// what fits into no row.
#include <time.h>

#include <fin/finish_on.h>

#include "io/io.h"

static bool before(const struct fin_timer *a, const struct fin_timer *b) {
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

// Of two heaps, neither with siblings, either empty. A first child's `prev` is its parent, another's the sibling before it.
static struct fin_timer *merge(struct fin_timer *a, struct fin_timer *b) {
    if (!a || !b)
        return a ? a : b;
    if (before(b, a)) {
        struct fin_timer *t = a;
        a = b;
        b = t;
    }
    b->prev = a;
    b->next = a->child;
    if (b->next)
        b->next->prev = b;
    a->child = b;
    return a;
}

// Of a list of siblings: in pairs from the left, the pairs from the right. That is what bounds the cost.
static struct fin_timer *merge_all(struct fin_timer *list) {
    struct fin_timer *pairs = NULL, *heap = NULL;
    while (list) {
        struct fin_timer *a = list, *b = a->next;
        list = b ? b->next : NULL;
        a->next = a->prev = NULL;
        if (b)
            b->next = b->prev = NULL;
        a = merge(a, b);
        a->next = pairs;
        pairs = a;
    }
    while (pairs) {
        struct fin_timer *next = pairs->next;
        pairs->next = NULL;
        heap = merge(heap, pairs);
        pairs = next;
    }
    return heap;
}

// The row whose last is due closest before; where all are due later, an empty one, if there is one.
static struct timer_row *row_for(struct timers *all, uint64_t due) {
    struct timer_row *best = NULL;
    for (struct timer_row *r = all->rows; r < all->rows + TIMER_ROWS; r++) {
        if (!r->first)
            best = best ? best : r;
        else if (r->due <= due && (!best || !best->first || r->due > best->due))
            best = r;
    }
    return best;
}

// Who sleeps long has left the caches, and the list of a row is no quicker to follow than memory is. So each timer in a row
// knows one some places behind it, in the field that only the heap uses, and when its turn comes, what that one's turn will
// touch is fetched: a sleeper's frame, and what it calls next. It may have been removed meanwhile: then it was for nothing.
enum { PLACES = 4, LINES_BELOW = 3, LINES_ABOVE = 6 };

static void tell_one_before(struct fin_timer *t) {
    struct fin_timer *b = t;
    for (int i = 0; i < PLACES; i++)
        if (!(b = b->prev))
            return;
    b->child = t;
}

static void fetch_one_behind(const struct fin_timer *t) {
    if (t->row && t->child)
        for (int i = -LINES_BELOW; i <= LINES_ABOVE; i++)
            __builtin_prefetch((const void *)((uintptr_t)t->child + (uintptr_t)(64 * i)));
}

void fin_timer_add(struct io *io, struct fin_timer *t, uint64_t due, void (*fn)(struct fin_timer *)) {
    struct timers *all = &io->timers;
    struct timer_row *r = row_for(all, due);
    all->waiting++;
    *t = (struct fin_timer){.due = due, .order = ++all->started, .fn = fn, .io = io};
    if (!r) {
        all->heap = merge(all->heap, t);
        return;
    }
    t->row = (uint32_t)(r - all->rows) + 1;
    t->prev = r->last;
    *(r->last ? &r->last->next : &r->first) = t;
    r->last = t;
    r->due = due;
    tell_one_before(t);
}

static void remove_from_row(struct timer_row *r, struct fin_timer *t) {
    *(t->prev ? &t->prev->next : &r->first) = t->next;
    *(t->next ? &t->next->prev : &r->last) = t->prev;
    if (!t->next && r->last)
        r->due = r->last->due;
}

static void remove_from_heap(struct timers *all, struct fin_timer *t) {
    struct fin_timer *below = merge_all(t->child);
    if (t == all->heap) {
        all->heap = below;
        return;
    }
    if (t->prev->child == t)
        t->prev->child = t->next;
    else
        t->prev->next = t->next;
    if (t->next)
        t->next->prev = t->prev;
    all->heap = merge(all->heap, below);
}

void fin_timer_remove(struct fin_timer *t) {
    if (!fin_timer_waits(t))
        return;
    struct timers *all = &((struct io *)t->io)->timers;
    t->order = 0;
    all->waiting--;
    if (t->row)
        remove_from_row(&all->rows[t->row - 1], t);
    else
        remove_from_heap(all, t);
}

struct fin_timer *fin_timers_soonest(const struct io *io) {
    struct fin_timer *first = io->timers.heap;
    for (const struct timer_row *r = io->timers.rows; r < io->timers.rows + TIMER_ROWS; r++)
        if (r->first && (!first || before(r->first, first)))
            first = r->first;
    return first;
}

void fin_timers_run(struct io *io) {
    struct fin_timer *t = fin_timers_first(io);
    if (!t)
        return;
    uint64_t now = fin_now();
    for (; t && t->due <= now; t = fin_timers_first(io)) {
        fetch_one_behind(t);
        fin_timer_remove(t);
        t->fn(t);
    }
}

uint64_t fin_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * FIN_S + (uint64_t)t.tv_nsec;
}

uint64_t fin_io_after(uint64_t ns) {
    uint64_t now = fin_now();
    return now + ns < now ? UINT64_MAX : now + ns;
}

void fin_io_slept(struct fin_timer *t) {
    struct sleeper *s = FIN_OF(struct sleeper, timer, t);
    fin_io_resume(s->io, &s->waiter, 0);
}

void fin_io_cancel_sleep(void *sleeper) {
    struct sleeper *s = sleeper;
    if (!fin_timer_waits(&s->timer))
        return;
    fin_timer_remove(&s->timer);
    fin_io_resume(s->io, &s->waiter, -ECANCELED);
}

static FIN_BLOCKING int sleep_until(uint64_t when, bool nc) {
    struct sleeper s;
    int error = fin_io_here(&s.io);
    if (error)
        return error;
    s.timer.order = 0;
    if (!nc) {
        fin_cancel_add(&s.waiter.item, fin_io_cancel_sleep, &s);
        if (fin_cancel_item_ran(&s.waiter.item))
            return -ECANCELED;
    }
    fin_timer_add(s.io, &s.timer, when, fin_io_slept);
    s.io->rt->stats.blocks[FIN_FOR_TIME].with_stack++;
    fin_await(&s.waiter.awe);
    if (!nc)
        fin_cancel_remove(&s.waiter.item);
    return s.waiter.result;
}

int fin_sleep(uint64_t ns) { return sleep_until(fin_io_after(ns), false); }
int fin_sleep_nc(uint64_t ns) { return sleep_until(fin_io_after(ns), true); }
int fin_sleep_until(uint64_t when) { return sleep_until(when, false); }
int fin_sleep_until_nc(uint64_t when) { return sleep_until(when, true); }

static void time_is_over(struct fin_timer *t) { fin_cancel_block_(t->arg); }

static __thread bool timed_out;

// Entered with the block begun. A timer that does not wait is one that ran.
static void begin(struct fin_finish_block *block, struct fin_timer *timer, uint64_t when, bool over) {
    struct io *io;
    timer->order = 0;
    block->flags |= FIN_FINISH_TIMED;
    if (over || fin_io_here(&io) != 0) {
        fin_cancel_block_(block);
        return;
    }
    fin_timer_add(io, timer, when, time_is_over);
    timer->arg = block;
}

void fin_timeout_begin_(struct fin_finish_block *block, struct fin_timer *timer, uint64_t ns) {
    begin(block, timer, fin_io_after(ns), ns == 0);
}

void fin_deadline_begin_(struct fin_finish_block *block, struct fin_timer *timer, uint64_t when) {
    begin(block, timer, when, when <= fin_now());
}

static struct fin_timer *timer_in(struct fin_finish_on *f) { return (struct fin_timer *)(void *)f->timer; }
_Static_assert(sizeof(struct fin_timer) <= sizeof(((struct fin_finish_on *)0)->timer), "room");

int fin_timeout_open(struct fin_finish_on *f, uint64_t ns) {
    int error = fin_finish_open(f);
    if (!error)
        fin_timeout_begin_(&f->block, timer_in(f), ns);
    return error;
}

int fin_deadline_open(struct fin_finish_on *f, uint64_t when) {
    int error = fin_finish_open(f);
    if (!error)
        fin_deadline_begin_(&f->block, timer_in(f), when);
    return error;
}

void fin_timeout_end_(struct fin_timer *timer) {
    timed_out = !fin_timer_waits(timer);
    fin_timer_remove(timer); // in the child of a fork: from what was its parent's
}

// The next of a heap, each before those below it.
static struct fin_timer *next_in_heap(struct fin_timer *t) {
    if (t->child)
        return t->child;
    while (t && !t->next) {
        while (t->prev && t->prev->child != t)
            t = t->prev;
        t = t->prev;
    }
    return t ? t->next : NULL;
}

static bool is_of(const struct fin_timer *t, const struct fin_finish_block *block) {
    return t->fn == time_is_over && t->arg == block;
}

static struct fin_timer *timer_of(const struct timers *all, const struct fin_finish_block *block) {
    struct fin_timer *t;
    for (const struct timer_row *r = all->rows; r < all->rows + TIMER_ROWS; r++)
        for (t = r->first; t; t = t->next)
            if (is_of(t, block))
                return t;
    for (t = all->heap; t && !is_of(t, block); t = next_in_heap(t)) {
    }
    return t;
}

bool fin_timed_left(struct fin_poller *p, struct fin_finish_block *block) {
    bool on = block->flags & FIN_FINISH_ON;
    struct fin_timer *t = on ? timer_in((struct fin_finish_on *)(void *)block) : timer_of(&((struct io *)p)->timers, block);
    bool waits = t && fin_timer_waits(t);
    if (waits)
        fin_timer_remove(t);
    return waits;
}

static void take(struct fin_timer *t, struct fin_timer **taken) {
    fin_timer_remove(t);
    t->next = *taken;
    *taken = t;
}

void fin_timers_take(struct io *io, void (*fn)(struct fin_timer *), void (*with)(struct fin_timer *)) {
    struct timers *all = &io->timers;
    struct fin_timer *taken = NULL, *t, *next;
    for (struct timer_row *r = all->rows; r < all->rows + TIMER_ROWS; r++) {
        for (t = r->first; t; t = next) {
            next = t->next;
            if (t->fn == fn)
                take(t, &taken);
        }
    }
    for (t = all->heap; t;) {
        bool found = t->fn == fn;
        if (found)
            take(t, &taken);
        t = found ? all->heap : next_in_heap(t);
    }
    for (t = taken; t; t = next) {
        next = t->next;
        with(t);
    }
}

// What others of the parent's blocks were to end is not there to be ended.
void fin_timers_forked(struct io *parents) {
    for (struct fin_finish_block *b = fin_self->current; b; b = b->parent) {
        struct fin_timer *t = b->flags & FIN_FINISH_TIMED ? timer_of(&parents->timers, b) : NULL;
        if (!t)
            continue;
        fin_timer_remove(t);
        begin(b, t, t->due, false);
    }
}

bool fin_timed_out(void) { return timed_out; }

int fin_timer_slack(uint64_t ns) {
    struct io *io;
    int error = fin_io_here(&io);
    if (error == 0)
        io->slack = ns;
    return error;
}
