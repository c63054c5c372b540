// SPDX-License-Identifier: BSD-2-Clause
#include "sync/wait.h"

#include <stddef.h>
#include <string.h>

#include "core/host.h"
#include "pause.h"
#include "sync/host.h"

enum { SPINS = 100 };

// The holder may have lost its CPU, to a thread like this one where threads are more than CPUs. Or it takes the latch again
// and again: what it is told then may be lost, as it stores 0 at that moment, and is said again.
void fin_latch_wait_(struct fin_latch *l) {
    for (unsigned i = 1;; i++) {
        uint32_t held = __atomic_load_n(&l->held, __ATOMIC_RELAXED);
        if (held == 0) {
            if (__atomic_exchange_n(&l->held, 1, __ATOMIC_ACQUIRE) == 0)
                return;
        } else if (i % SPINS != 0) {
            fin_arch_pause();
        } else {
            __atomic_compare_exchange_n(&l->held, &held, 2, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
            fin_host_give_way();
        }
    }
}

void fin_latch_pass_(struct fin_latch *l) {
    __atomic_store_n(&l->held, 0, __ATOMIC_RELEASE);
    fin_host_give_way();
}

void fin_waiters_insert(struct fin_waiters *q, struct fin_waiter *w, struct fin_waiter *after) {
    w->prev = after;
    w->next = after ? after->next : q->first;
    *(after ? &after->next : &q->first) = w;
    *(w->next ? &w->next->prev : &q->last) = w;
}

static void unlink(struct fin_waiters *q, struct fin_waiter *w) {
    *(w->prev ? &w->prev->next : &q->first) = w->next;
    *(w->next ? &w->next->prev : &q->last) = w->prev;
}

void fin_waiters_take(struct fin_waiters *q, struct fin_waiter *w) {
    unlink(q, w);
    // A waiter that fin_mutex_pass brought here has had this done under another latch, whose holder may look at this moment.
    if (w->at == q)
        w->waiting = false;
}

static void cancel(void *arg) {
    struct fin_waiter *w = arg;
    fin_latch_acquire(&w->at->latch);
    bool first = w->waiting;
    if (first) {
        unlink(w->at, w);
        w->waiting = false;
        w->result = -ECANCELED;
        fin_cont_result(w->awe, -ECANCELED);
        if (w->kind == FIN_WAITS_IN_QUEUE)
            w->entry->waiter = NULL; // fin_queue_leave does not look for it any more
    }
    fin_latch_release(&w->at->latch);
    if (!first)
        return; // granted: somebody else makes it run
    if (w->kind == FIN_WAITS_WITH_MUTEX)
        fin_mutex_pass(w->mutex, w);
    else
        fin_waiter_run(w);
}

// The AWE can be resumed from here on, but this thread does not do so before this function has returned: w stays.
// (models/wait.pml)
static void stopped(void *arg) {
    struct fin_waiter *w = arg;
    fin_latch_release(&w->at->latch);
    if (w->cancellable)
        fin_cancel_add(&w->item, cancel, w);
    if (w->kind == FIN_WAITS_WITH_MUTEX)
        fin_mutex_unlock(w->mutex);
}

static void stopped_on(struct fin_awe *a, void *arg) {
    struct fin_waiter *w = arg;
    struct fin_mutex *m = w->kind == FIN_WAITS_WITH_MUTEX ? w->mutex : NULL;
    w->awe = a;
    fin_latch_release(&w->at->latch);
    if (m)
        fin_mutex_unlock(m);
}

int fin_waiter_wait_on(struct fin_waiters *q, const struct fin_how *how) {
    struct fin_waiter *w = how->w;
    w->at = q;
    w->waiting = true;
    w->item.fn = cancel;
    w->item.arg = w;
    return fin_cont_suspend(how->reason, how->cont, how->state, how->size, w->cancellable ? &w->item : NULL, stopped_on, w);
}

int fin_waiter_wait(struct fin_waiters *q, struct fin_waiter *w, enum fin_reason reason) {
    w->at = q;
    w->result = 0;
    w->waiting = true;
    fin_here()->stats.blocks[reason].with_stack++;
    fin_await_then(&w->awe, stopped, w);
    if (w->cancellable)
        fin_cancel_remove(&w->item);
    return w->result;
}

// ---- for reports

enum { ROOM = 2048 };
#define READ(to, from) fin_host_read(&(to), from, sizeof(to))

static bool goes_to(const struct fin_waiter *next, const struct fin_waiter *at) {
    struct fin_waiter w;
    return READ(w, next) && w.prev == at;
}

static bool comes_from(const struct fin_waiter *prev, const struct fin_waiter *at) {
    struct fin_waiter w;
    return READ(w, prev) && w.next == at;
}

// Where it is listed: one that a condition variable let go stands in line for its mutex.
static const struct fin_waiters *listed_at(const struct fin_waiter *w) {
    const unsigned char waiting = *(const unsigned char *)&w->waiting;
    return w->kind != FIN_WAITS_WITH_MUTEX || waiting ? w->at : (const struct fin_waiters *)(const void *)w->mutex;
}

// Those beside it on the list know one that is on it, however many there are: what was one does not pass for one.
static bool is_listed(const struct fin_waiter *at, const struct fin_waiter *w) {
    struct fin_waiters q;
    struct fin_queue_entry entry;
    if (w->kind == FIN_WAITS_IN_QUEUE) // its entry knows it
        return READ(entry, w->entry) && entry.waiter == at && *(const unsigned char *)&w->waiting;
    return READ(q, listed_at(w)) && (w->prev ? comes_from(w->prev, at) : q.first == at) &&
           (w->next ? goes_to(w->next, at) : q.last == at);
}

static bool is_waiter(const struct fin_waiter *at, const struct fin_awe *a, struct fin_sync_wait *found) {
    struct fin_waiter w;
    if (!READ(w, at) || w.awe != a || !is_listed(at, &w))
        return false;
    *found = (struct fin_sync_wait){listed_at(&w), FIN_SYNC_OTHER, 0};
    if (w.kind == FIN_WAITS_TO_PASS)
        found->what = FIN_SYNC_SEM;
    else if (w.kind == FIN_WAITS_WITH_MUTEX && found->object == w.at)
        found->what = FIN_SYNC_COND;
    else if (w.kind == FIN_WAITS_IN_QUEUE)
        found->what = FIN_SYNC_QUEUE;
    else if (w.kind == FIN_WAITS_FOR_COUNT)
        *found = (struct fin_sync_wait){found->object, FIN_SYNC_EVENT, w.count};
    return true;
}

// Each read is a system call.
bool fin_sync_waits(const struct fin_awe *a, const void *from, const void *to, struct fin_sync_wait *found) {
    char room[ROOM];
    const size_t size = (size_t)((const char *)to - (const char *)from);
    const bool all = size <= ROOM && fin_host_read(room, from, size);
    for (size_t i = 0; i + sizeof(struct fin_waiter) <= size; i += sizeof(void *)) {
        const struct fin_waiter *at = (const void *)((const char *)from + i);
        if (all && memcmp(room + i + offsetof(struct fin_waiter, awe), &a, sizeof a) != 0)
            continue;
        if (is_waiter(at, a, found))
            return true;
    }
    return false;
}

// What follows another object's waiters is no place in a table of holders.
bool fin_sync_is_mutex(const void *object, const void ***hold) {
    struct fin_mutex m;
    if (!READ(m, object) || *(const unsigned char *)&m.locked != 1)
        return false;
    *hold = m.hold;
    for (const struct fin_runtime *rt = __atomic_load_n(&fin_runtimes, __ATOMIC_ACQUIRE); rt; rt = rt->next)
        if (fin_hold_is(rt, m.hold))
            return true;
    return false;
}
