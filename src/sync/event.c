// SPDX-License-Identifier: BSD-2-Clause
// The waiters are sorted by what they wait for; those for the same count stand in the order of their arrival. A place is
// looked for from both ends: who waits for more than all others, or for less, finds it at once.
#include "sync/wait.h"

void fin_event_init(struct fin_event *e) { *e = (struct fin_event)FIN_EVENT_INIT; }

uint64_t fin_event_read(const struct fin_event *e) { return __atomic_load_n(&e->count, __ATOMIC_ACQUIRE); }

// The latch is taken even where the count is there already: so the caller may free the event, as whoever advanced it is
// done.
static inline FIN_BLOCKING __attribute__((always_inline)) int await(struct fin_event *e, uint64_t count,
                                                                    const struct fin_how *how) {
    int r = fin_how_begin(how);
    if (r)
        return r;
    fin_latch_acquire(&e->waiters.latch);
    if (e->count >= count) {
        fin_latch_release(&e->waiters.latch);
        return fin_how_pass(how);
    }
    struct fin_waiter *after = e->waiters.last, *before = e->waiters.first;
    how->w->kind = FIN_WAITS_FOR_COUNT;
    how->w->count = count;
    for (; after && after->count > count && before->count <= count; after = after->prev)
        before = before->next;
    if (after && after->count > count)
        after = before->prev;
    fin_waiters_insert(&e->waiters, how->w, after);
    return fin_how_wait(how, &e->waiters);
}

int fin_event_await(struct fin_event *e, uint64_t count) {
    struct fin_waiter w;
    return await(e, count, FIN_HOW_STACK(&w, false));
}

void fin_event_await_nc(struct fin_event *e, uint64_t count) {
    struct fin_waiter w;
    await(e, count, FIN_HOW_STACK(&w, true));
}

int fin_event_await_message(struct fin_event *e, uint64_t count, bool nc) {
    struct fin_waiter w;
    return await(e, count, FIN_HOW_STACK_FOR(FIN_FOR_MESSAGE, &w, nc));
}

FIN_SYNC_ON(fin_event_await_on, (struct fin_event *e, uint64_t count, FIN_ON_PARAMETERS), await, e, count)

FIN_LEAVES_FRAME int fin_event_await_message_on(struct fin_event *e, uint64_t count, FIN_ON_PARAMETERS) {
    return await(e, count, FIN_HOW_ON_FOR(FIN_FOR_MESSAGE, false));
}

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
