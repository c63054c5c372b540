// SPDX-License-Identifier: BSD-2-Clause
#include "chan/turn.h"

#include "sync/wait.h"

enum { TRIES = 4 }; // how often somebody comes for it in vain; then it is handed to him

// Who has the turn may give up its frames: a reservation is in none of them. So no frame holds the mutex.
int fin_turn_take(struct turn *t, bool nc) {
    struct fin_waiters *q = &t->mutex.waiters;
    if (!nc && fin_cancelled())
        return -ECANCELED;
    fin_latch_acquire(&q->latch);
    for (int tries = 0; t->mutex.locked; tries++) {
        struct fin_waiter w = {.kind = tries < TRIES ? FIN_WAITS_TO_TRY : FIN_WAITS_PLAIN, .cancellable = !nc};
        fin_waiters_insert(q, &w, tries == 0 ? q->last : NULL);
        int r = fin_waiter_wait(q, &w, FIN_FOR_MESSAGE);
        if (r != -EAGAIN)
            return r;
        fin_latch_acquire(&q->latch);
        t->coming--;
    }
    t->mutex.locked = true;
    fin_latch_release(&q->latch);
    return 0;
}

static void comes(struct turn *t, unsigned more) {
    fin_latch_acquire(&t->mutex.waiters.latch);
    t->coming += more;
    fin_latch_release(&t->mutex.waiters.latch);
}

void fin_turn_pay(struct turn *t, bool *owes) {
    __atomic_store_n(owes, false, __ATOMIC_RELAXED);
    comes(t, 1);
    fin_let_others_run();
    comes(t, -1u);
}

// Where the end is not shared, or the first one waits with a continuation, it is handed over.
void fin_turn_give(struct turn *t) {
    struct fin_waiters *q = &t->mutex.waiters;
    fin_latch_acquire(&q->latch);
    struct fin_waiter *w = q->first;
    bool to_try = w && w->kind == FIN_WAITS_TO_TRY && t->shared;
    t->mutex.locked = w && !to_try;
    if (to_try) {
        w->result = -EAGAIN;
        t->coming++;
    }
    if (w)
        fin_waiters_take(q, w);
    fin_latch_release(&q->latch);
    if (w)
        fin_waiter_run(w);
}
