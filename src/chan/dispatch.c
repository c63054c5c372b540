// SPDX-License-Identifier: BSD-2-Clause
// How the events of a waitset are waited for, and handled. See waitset.h for the invariants.
// (models/waitset.pml, move.pml)
#define _GNU_SOURCE
#include <poll.h>
#include <sys/eventfd.h>

#include <fin/async.h>
#include <fin/cancel.h>
#include <fin/io.h>

#include "chan/waitset.h"
#include "core/cont.h"

struct fin_waiter *fin_waitset_next_follower(struct fin_waitset *w) {
    struct fin_waiter *f = w->waiters.first;
    bool leaderless = w->epoll >= 0 && !w->led && !w->monitor;
    if (!f || !(w->closed || leaderless || fin_waitset_any(w, PENDING)))
        return NULL;
    fin_waiters_take(&w->waiters, f);
    return f;
}

// Is it for the thread that monitors the set to make somebody run, before all others, and interrupting what computes?
static bool is_alert(const struct fin_waitset *w) {
    const struct fin_waiter *f = w->waiters.first;
    return w->monitor && !w->closed && f && f->awe->owner == w->monitor;
}

void fin_waitset_release(struct fin_waitset *w) {
    bool alert = is_alert(w);
    struct fin_waiter *f = alert ? NULL : fin_waitset_next_follower(w), *next;
    if (alert && fin_waitset_any(w, PENDING))
        fin_alert_raise(w->monitor);
    if (w->closed) {
        while (w->waiters.first) // they stay linked
            fin_waiters_take(&w->waiters, w->waiters.first);
    } else if (f) {
        f->next = NULL;
    }
    if (w->led && !w->rung && (w->closed || (!f && fin_waitset_any(w, PENDING)))) {
        w->rung = true;
        if (eventfd_write(w->bell, 1) != 0 && fin_host_denied(-errno))
            fin_host_die_of("a thread that waits for a waitset cannot be woken, as write(2) fails", errno, "");
    }
    fin_latch_release(&w->waiters.latch);
    for (; f; f = next) { // the set may be gone by now
        next = f->next;
        fin_waiter_run(f);
    }
}

void fin_waitset_rung(struct fin_waitset_source *s) {
    struct fin_waitset *w = s->set;
    fin_latch_acquire(&w->waiters.latch);
    s->triggered = true;
    if (!s->held && s->group != PENDING) {
        fin_waitset_unlink(w, s); // its receiver's side disarms it
        fin_lines_remove(w->monitor, s);
        fin_waitset_enlist(w, s, PENDING);
    }
    fin_waitset_release(w);
}

// As the leader, who sleeps in the kernel, or a follower. Pre: the latch. Post: without it. 0, -ECANCELED, a shortage.
static FIN_BLOCKING int sleep_in(struct fin_waitset *w, bool nc) {
    if (w->epoll < 0 || w->led || w->monitor) {
        struct fin_waiter f;
        return fin_how_join(FIN_HOW_STACK_FOR(FIN_FOR_MESSAGE, &f, nc), &w->waiters, FIN_WAITS_PLAIN);
    }
    w->led = true;
    w->rung = false;
    fin_latch_release(&w->waiters.latch);
    fin_here()->waits_for = FIN_FOR_MESSAGE;
    int r = nc ? fin_poll_nc(w->epoll, POLLIN) : fin_poll(w->epoll, POLLIN);
    fin_here()->waits_for = FIN_FOR_IO;
    fin_latch_acquire(&w->waiters.latch);
    w->led = false;
    fin_waitset_hear(w);
    fin_waitset_release(w);
    return r < 0 ? r : 0;
}

static FIN_BLOCKING void relax(struct patience *p, bool slept) {
    struct fin_runtime *rt = fin_here();
    if (FIN_UNLIKELY(slept || !fin_link_empty(&rt->queue) || pending_of(rt->thread.current) != NULL)) {
        p->yields++;
        fin_ump_yield();
    } else if (p->turn_due) {
        fin_ump_give_turn();
    }
}

// The event, with the latch; or an error, without it. The caller is a user of the set.
static FIN_BLOCKING int await(struct fin_waitset *w, bool nc, struct fin_waitset_source **out) {
    static __thread unsigned events;
    struct patience p = {0};
    bool slept = false, others = ++events % EVENTS_A_TURN == 0;
    for (;;) {
        bool cancelled = !nc && fin_cancelled();
        fin_latch_acquire(&w->waiters.latch);
        if (FIN_UNLIKELY(others && !w->monitor)) { // a set that always has an event keeps nobody else from running
            others = false;
            fin_waitset_release(w);
            fin_yield();
            continue;
        }
        int r = w->closed ? -ESHUTDOWN : cancelled ? -ECANCELED : 0;
        *out = r == 0 ? fin_waitset_find(w, false) : NULL;
        if (*out)
            return 0;
        if (r == 0 && !fin_waitset_try_again(w, &p)) {
            fin_waitset_arm_all(w);
            if (!fin_waitset_any(w, PENDING) && !slept) {
                slept = true;
                r = sleep_in(w, nc);
                if (r != 0)
                    return r;
                continue;
            }
        }
        bool alerted = w->monitor == fin_here();
        fin_waitset_release(w);
        if (r != 0)
            return r;
        if (!alerted) // where alerts make it run, a computation might never give its turn back: it waits again
            relax(&p, slept); // having slept for nothing, too: a flood of rings keeps nobody else from running
        slept = false;
    }
}

void fin_waitset_given_back(struct fin_waitset *w, struct fin_waitset_holder_ *h) {
    struct fin_waitset_source *s = h->source;
    if (!s)
        return;
    fin_waitset_delist(w, s);
    s->held = NULL;
    if (s->chan)
        ump_watch(&s->chan->in.ump, true);
    fin_waitset_place(w, s);
}

static void let_remover_go(struct fin_waiters *removers) {
    struct fin_waiter *f = removers->first;
    fin_latch_acquire(&removers->latch); // it stops
    fin_waiters_take(removers, f);
    fin_latch_release(&removers->latch);
    fin_waiter_run(f);
}

// The handler has returned, or its AWE has ended there.
static void handled(struct fin_called *called) {
    struct fin_waitset_holder_ *h = (struct fin_waitset_holder_ *)(void *)called;
    struct fin_waitset *w = h->events;
    fin_latch_acquire(&w->waiters.latch);
    bool moved = h->moved;
    if (!moved)
        fin_waitset_given_back(w, h);
    fin_waitset_release(w);
    if (moved)
        fin_waitset_return(h);
    if (FIN_UNLIKELY(h->removers.first != NULL)) // since the latch was held: its member has left, and no other one comes
        let_remover_go(&h->removers);
    fin_waitset_drop(w);
}

// The finish block keeps an explicit AWE from giving up this stack, and from ending.
static FIN_BLOCKING __attribute__((noinline)) void call_in_block(fin_waitset_fn *fn, void *arg) {
    fin_finish {
        fn(arg);
    }
}

// Pre: s is on no list, and the latch is held. Post: it is not. In a set that the thread monitors s is first.
void fin_waitset_call(struct fin_waitset *w, struct fin_waitset_source *s) {
    bool alerts = w->monitor == fin_here();
    struct fin_waitset_holder_ h = {
        .called = {.left = handled, .serves_alert = alerts}, .source = s, .set = w, .events = w,
    };
    fin_waitset_fn *fn = s->fn;
    void *arg = s->arg;
    s->held = &h;
    fin_waitset_enlist(w, s, ASIDE);
    if (s->chan)
        ump_watch(&s->chan->in.ump, false);
    fin_waitset_release(w);
    fin_called_begin(&h.called);
    if (FIN_UNLIKELY(running_record(here(fin_here())) != NULL))
        call_in_block(fn, arg);
    else
        fn(arg);
    fin_called_end(&h.called);
    handled(&h.called);
}

static FIN_BLOCKING int dispatch_one(struct fin_waitset *w, bool nc) {
    struct fin_waitset_source *s;
    fin_waitset_retain(w);
    int r = await(w, nc, &s);
    if (r == 0)
        fin_waitset_call(w, s);
    else
        fin_waitset_drop(w);
    return r;
}

int fin_waitset_dispatch(struct fin_waitset *w) { return dispatch_one(w, false); }
int fin_waitset_dispatch_nc(struct fin_waitset *w) { return dispatch_one(w, true); }

int fin_waitset_dispatch_nonblock(struct fin_waitset *w) {
    fin_latch_acquire(&w->waiters.latch);
    struct fin_waitset_source *s = w->closed ? NULL : fin_waitset_find(w, true);
    if (s) {
        fin_waitset_retain(w);
        fin_waitset_call(w, s);
        return 0;
    }
    int r = w->closed ? -ESHUTDOWN : -EAGAIN;
    fin_waitset_release(w);
    return r;
}

// It stays an event: what was taken was not told.
static void put_back(struct fin_waitset *w, struct fin_waitset_source *s) {
    s->told = false;
    s->triggered = true;
    fin_waitset_enlist(w, s, PENDING);
}

int fin_waitset_check(struct fin_waitset *w) {
    fin_latch_acquire(&w->waiters.latch);
    struct fin_waitset_source *s = w->closed ? NULL : fin_waitset_find(w, true);
    if (s)
        put_back(w, s);
    int r = s ? 0 : w->closed ? -ESHUTDOWN : -EAGAIN;
    fin_waitset_release(w);
    return r;
}

static FIN_BLOCKING int next(struct fin_waitset *w, void **arg, bool nc) {
    struct fin_waitset_source *s;
    fin_waitset_retain(w);
    int r = await(w, nc, &s);
    if (r == 0) {
        *arg = s->arg;
        fin_waitset_place(w, s);
        fin_waitset_release(w);
    }
    fin_waitset_drop(w);
    return r;
}

int fin_waitset_next(struct fin_waitset *w, void **arg) { return next(w, arg, false); }
int fin_waitset_next_nc(struct fin_waitset *w, void **arg) { return next(w, arg, true); }
