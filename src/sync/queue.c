// SPDX-License-Identifier: BSD-2-Clause
// The line is that of the entries, each of which names its waiter; the list of waiters stays empty, and a waiter by itself.
// An entry that leaves early hands what it counted to the one before it, so nothing of it stays behind.
#include "sync/wait.h"

void fin_queue_init(struct fin_queue *q) { *q = (struct fin_queue)FIN_QUEUE_INIT; }

void fin_queue_enter(struct fin_queue *q, struct fin_queue_entry *e) {
    const void **hold = hold_in_frames(e);
    fin_latch_acquire(&q->waiters.latch);
    *e = (struct fin_queue_entry){.prev = q->last, .hold = hold};
    *(q->last ? &q->last->next : &q->first) = e;
    q->last = e;
    fin_latch_release(&q->waiters.latch);
}

static inline FIN_BLOCKING __attribute__((always_inline)) int await(struct fin_queue *q, struct fin_queue_entry *e,
                                                                    const struct fin_how *how) {
    int r = fin_how_begin(how);
    if (r)
        return r;
    fin_latch_acquire(&q->waiters.latch);
    if (q->first == e) {
        fin_latch_release(&q->waiters.latch);
        return fin_how_pass(how);
    }
    struct fin_waiter *w = how->w;
    w->kind = FIN_WAITS_IN_QUEUE;
    w->entry = e;
    w->next = w->prev = NULL;
    e->waiter = w;
    return fin_how_wait(how, &q->waiters);
}

int fin_queue_await_turn(struct fin_queue *q, struct fin_queue_entry *e) {
    struct fin_waiter w;
    return await(q, e, FIN_HOW_STACK(&w, false));
}

void fin_queue_await_turn_nc(struct fin_queue *q, struct fin_queue_entry *e) {
    struct fin_waiter w;
    await(q, e, FIN_HOW_STACK(&w, true));
}

FIN_SYNC_ON(fin_queue_await_turn_on, (struct fin_queue *q, struct fin_queue_entry *e, FIN_ON_PARAMETERS), await, q, e)

int fin_queue_leave(struct fin_queue *q, struct fin_queue_entry *e) {
    struct fin_waiter *w = NULL;
    int result = 0;
    fin_latch_acquire(&q->waiters.latch);
    *(e->prev ? &e->prev->next : &q->first) = e->next;
    *(e->next ? &e->next->prev : &q->last) = e->prev;
    if (e->prev) {
        e->prev->left_behind += 1 + e->left_behind;
    } else {
        result = 1 + (int)e->left_behind;
        w = q->first ? q->first->waiter : NULL;
        if (w)
            fin_waiters_take(&q->waiters, w);
    }
    fin_latch_release(&q->waiters.latch);
    release_lock(e->hold);
    if (w)
        fin_waiter_run(w);
    return result;
}
