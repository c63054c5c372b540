// SPDX-License-Identifier: BSD-2-Clause
// The waiters are sorted by what they wait for; those for the same count stand in the order of their arrival.
#include "sync/wait.h"

void fin_event_init(struct fin_event *e) { *e = (struct fin_event)FIN_EVENT_INIT; }

uint64_t fin_event_read(const struct fin_event *e) { return __atomic_load_n(&e->count, __ATOMIC_ACQUIRE); }

// The latch is taken even where the count is there already: so the caller may free the event, as whoever advanced it is
// done.
static inline int await(struct fin_event *e, uint64_t count, bool cancellable) {
    fin_latch_acquire(&e->waiters.latch);
    if (e->count >= count) {
        fin_latch_release(&e->waiters.latch);
        return 0;
    }
    struct fin_waiter w, *after = e->waiters.last;
    w.mutex = NULL;
    w.cancellable = cancellable;
    w.count = count;
    while (after && after->count > count)
        after = after->prev;
    fin_waiters_insert(&e->waiters, &w, after);
    return fin_waiter_wait(&e->waiters, &w);
}

int fin_event_await(struct fin_event *e, uint64_t count) {
    if (fin_cancelled())
        return -ECANCELED;
    return await(e, count, true);
}

void fin_event_await_nc(struct fin_event *e, uint64_t count) { await(e, count, false); }

void fin_event_advance(struct fin_event *e, uint64_t by) {
    fin_latch_acquire(&e->waiters.latch);
    uint64_t count = e->count + by < by ? UINT64_MAX : e->count + by;
    __atomic_store_n(&e->count, count, __ATOMIC_RELEASE); // for fin_event_read
    struct fin_waiter *w = e->waiters.first, *stay, *next;
    while ((stay = e->waiters.first) && stay->count <= count)
        fin_waiters_take(&e->waiters, stay); // they stay linked by `next`, the last one to the first that waits on
    fin_latch_release(&e->waiters.latch);
    for (; w != stay; w = next) {
        next = w->next;
        fin_waiter_run(w);
    }
}
