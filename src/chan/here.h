// SPDX-License-Identifier: BSD-2-Clause
// The quick half of waiting with a continuation for what an AWE of the same thread sends: recv_on.c and rpc_on.c.
#ifndef FIN_CHAN_HERE_H
#define FIN_CHAN_HERE_H

#include "chan/on.h"
#include "core/cont.h"

// recv_on.c: cancel items of waiters
void fin_chan_on_cancelled(void *waiter);
void fin_chan_on_cancelled_peek(void *waiter);

// The turn is taken; only this thread knows the waiter.
static inline struct lmp_waiter *leave_word(struct chan_on *on, struct fin_chan *c, void *buffer, size_t size) {
    struct lmp_waiter *w = &on->wait.lmp;
    w->at = c->in.ump.meeting;
    w->buffer = buffer;
    w->size = size;
    w->on = c;
    w->item.fn = fin_chan_on_cancelled;
    w->item.arg = w;
    return w->at->waiter = w;
}

static inline struct lmp_waiter *leave_word_to_peek(struct chan_on *on) {
    struct lmp_waiter *w = leave_word(on, on->chan, NULL, 0);
    w->on = FIN_LMP_PEEKS;
    w->item.fn = fin_chan_on_cancelled_peek;
    w->take = on->peek->take;
    w->arg = on->chan->rpc;
    return w;
}

// The explicit AWE that runs, where it can wait here at once.
static inline __attribute__((always_inline)) struct fin_cont_record *can_wait_here(const struct fin_runtime *rt,
                                                                                   struct fin_chan *c, fin_cont *cont,
                                                                                   size_t size) {
    return FIN_LIKELY(plainly_here(c)) ? begin_plain(rt, cont, size) : NULL;
}

// Pre: can_wait_here; word is left.
static inline __attribute__((always_inline)) void begin_wait_here(struct fin_runtime *rt, struct fin_cont_record *e,
                                                                  struct fin_chan *c, struct lmp_waiter *w, fin_cont *cont,
                                                                  const void *state, size_t size) {
    lmp_begin(c);
    set_plain(e, cont, state, size);
    let_cancel(e, &w->item);
    w->awe = awe_of(e);
    expose_as(rt, e, FIN_AWE_BUSY); // only who sends, closes or cancels makes it run
}

#endif
