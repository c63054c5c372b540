// SPDX-License-Identifier: BSD-2-Clause
// Dispatching a waitset with a continuation: as await(), dispatch_one() and next() in dispatch.c, but who waits has no
// stack.
#include "chan/on.h"
#include "chan/waitset.h"
#include "core/cont.h"

static int end(struct chan_on *on, int result) {
    fin_waitset_drop(on->set);
    return chan_on_end(on, result);
}

// The record with which the AWE goes on, where it has none yet: what its handler starts is not to have that. Who ends in the
// handler needs none.
struct held {
    struct fin_called called; // first
    struct fin_cont_record *record;
};

static void let_go(struct fin_called *called) { fin_cont_let_go(((struct held *)(void *)called)->record); }

static FIN_BLOCKING void call_handler(struct fin_waitset *w, struct fin_waitset_source *s) {
    struct held h = {.called = {.left = let_go}};
    fin_cont_hold(&h.record);
    if (!h.record) { // it has one: fin_cont_begin has seen that there is one
        fin_waitset_call(w, s);
        return;
    }
    fin_called_begin(&h.called);
    fin_waitset_call(w, s);
    fin_called_end(&h.called);
    let_go(&h.called);
}

// Whatever the handler leaves that must not be given up is its mistake, which nobody can be told any more. A set that the
// thread monitors has precedence: an alert finds only those in line.
static FIN_BLOCKING void call(struct chan_on *on, struct fin_waitset_source *s) {
    bool monitors = on->set->monitor == fin_here();
    call_handler(on->set, s);
    (monitors ? fin_cont_call_first : fin_cont_call)(on->kept.cont, on->kept.state, on->kept.size, 0);
    fin_host_die("a handler that fin_waitset_dispatch_on called left a mutex locked, an entry in a queue, or an "
                 "exception in flight");
}

// With the latch; without it afterwards. `woken`: what it goes on with
static int sleep_in(struct chan_on *on, fin_cont *woken) {
    struct fin_waitset *w = on->set;
    on->leads = !(w->epoll < 0 || w->led || w->monitor);
    if (!on->leads) {
        struct fin_waiter *f = (struct fin_waiter *)(void *)&on->wait.sync;
        f->kind = FIN_WAITS_PLAIN;
        f->cancellable = true;
        fin_waiters_insert(&w->waiters, f, w->waiters.last);
        return fin_waiter_wait_on(&w->waiters, &(struct fin_how){f, true, woken, &on, sizeof on, FIN_FOR_MESSAGE});
    }
    w->led = true;
    w->rung = false;
    fin_latch_release(&w->waiters.latch);
    return fin_on_readable(&on->wait.io, w->epoll, woken, &on, sizeof on);
}

static void no_longer_leads(struct chan_on *on) {
    struct fin_waitset *w = on->set;
    if (!on->leads)
        return;
    on->leads = false;
    fin_latch_acquire(&w->waiters.latch);
    w->led = false;
    fin_waitset_hear(w);
    fin_waitset_release(w);
}

// The event, with the latch; or it sleeps, or ends, and this does not return. Before it sleeps it looks for a while, and
// others have turns.
static struct fin_waitset_source *find_or_sleep(struct chan_on *on, fin_cont *woken, int *refused) {
    struct fin_waitset *w = on->set;
    struct patience p = {.yields = on->turns};
    for (;;) {
        bool cancelled = fin_cancelled();
        fin_latch_acquire(&w->waiters.latch);
        int r = w->closed ? -ESHUTDOWN : cancelled ? -ECANCELED : 0;
        struct fin_waitset_source *s = r == 0 ? fin_waitset_find(w, false) : NULL;
        if (s)
            return s;
        if (r == 0 && fin_waitset_try_again(w, &p)) {
            bool alerted = w->monitor == fin_here();
            fin_waitset_release(w);
            if (alerted || !fin_ump_others()) { // where alerts make it run, a computation might never give its turn back
                if (p.turn_due && !alerted)
                    fin_ump_give_turn();
                continue;
            }
            on->turns++;
            *refused = end(on, fin_cont_go_on(FIN_FOR_LOOK, woken, &on, sizeof on, 0));
            return NULL;
        }
        if (r == 0)
            fin_waitset_arm_all(w);
        if (r == 0 && !fin_waitset_any(w, PENDING)) {
            on->turns = SPIN_YIELDS; // a ring for nothing is no reason to look again
            r = sleep_in(on, woken);
            no_longer_leads(on); // it was refused
            *refused = end(on, r);
            return NULL;
        }
        fin_waitset_release(w);
        if (r != 0) {
            *refused = end(on, r);
            return NULL;
        }
    }
}

static FIN_INNER void woken(void *state, int result);

static FIN_BLOCKING int dispatch_or_sleep(struct chan_on *on) {
    int r;
    struct fin_waitset_source *s = find_or_sleep(on, woken, &r);
    if (s)
        call(on, s); // does not return
    return r;
}

static FIN_INNER FIN_BLOCKING void woken(void *state, int result) {
    struct chan_on *on = *(struct chan_on **)state;
    no_longer_leads(on);
    if (result < 0)
        end(on, result);
    else
        dispatch_or_sleep(on);
}

static void begin(struct chan_on *on, struct fin_waitset *w, fin_cont *cont, const void *state, size_t size) {
    on->set = w;
    on->leads = false;
    on->turns = 0;
    fin_keep(&on->kept, cont, state, size);
    fin_waitset_retain(w);
}

int fin_waitset_dispatch_on(struct fin_waitset *w, struct fin_chan_on *storage, fin_cont *cont, const void *state,
                            size_t size) {
    struct chan_on *on = chan_on_of(storage);
    int r = fin_cont_begin(cont, size, true);
    if (r < 0)
        return r;
    begin(on, w, cont, state, size);
    return r > 0 ? end(on, -ECANCELED) : dispatch_or_sleep(on);
}

// ---- the event alone. It is one still until it is received: nobody else of the thread looks for it before who was told
// runs.

static FIN_INNER void woken_for_next(void *state, int result);

static int next_or_sleep(struct chan_on *on) {
    int r;
    struct fin_waitset_source *s = find_or_sleep(on, woken_for_next, &r);
    if (!s)
        return r;
    *(void **)on->buffer = s->arg;
    fin_waitset_place(on->set, s);
    fin_waitset_release(on->set);
    fin_waitset_drop(on->set);
    return fin_cont_call_first(on->kept.cont, on->kept.state, on->kept.size, 0);
}

static FIN_INNER void woken_for_next(void *state, int result) {
    struct chan_on *on = *(struct chan_on **)state;
    no_longer_leads(on);
    if (result < 0)
        end(on, result);
    else
        next_or_sleep(on);
}

// A set that always has an event keeps nobody else from running: others have turns before one is looked for.
int fin_waitset_next_on(struct fin_waitset *w, void **arg, struct fin_chan_on *storage, fin_cont *cont, const void *state,
                        size_t size) {
    static __thread unsigned events;
    struct chan_on *on = chan_on_of(storage);
    int r = fin_cont_begin(cont, size, true);
    if (r < 0)
        return r;
    begin(on, w, cont, state, size);
    on->buffer = arg;
    if (r > 0)
        return end(on, -ECANCELED);
    bool has_stack = !running_record(here(fin_here())); // whose owner would go on first
    if (has_stack && __atomic_load_n(&w->monitor, __ATOMIC_RELAXED) == fin_here()) // and might compute
        return end(on, fin_cont_call_first(woken_for_next, &on, sizeof on, 0));
    if (has_stack || (++events % EVENTS_A_TURN == 0 && !__atomic_load_n(&w->monitor, __ATOMIC_RELAXED)))
        return end(on, fin_cont_go_on(FIN_FOR_TURN, woken_for_next, &on, sizeof on, 0));
    return next_or_sleep(on);
}
