// SPDX-License-Identifier: BSD-2-Clause
// How the events of a waitset are found, and waited for. See waitset.h for the invariants.
// (models/waitset.pml)
#define _GNU_SOURCE
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <fin/cancel.h>
#include <fin/io.h>

#include "chan/wait.h"
#include "chan/waitset.h"
#include "core/dispatch.h"

enum {
    FEW = 64,        // as many are looked at for the price of a system call: they stay polled until somebody sleeps
    SILENCE = 64,    // looks in vain until one of more goes idle: as much as it costs to have it ring
    HEAR_EVERY = 32, // looks for an event between two at what the kernel tells
    EVENTS = 64,     // taken from the kernel at a time
    LOOKS = 200,     // at polled ones, before sleeping
    YIELDS = 50,
    TURNS = 16, // events between two turns of others
};

static struct ump_rx *rx_of(struct fin_waitset_source *s) { return &s->chan->in.ump; }

void fin_waitset_enlist(struct fin_waitset *w, struct fin_waitset_source *s, int group) {
    s->group = (uint8_t)group;
    w->count[group]++;
    fin_link_back(&w->group[group], &s->link);
}

static void unlink_it(struct fin_waitset *w, struct fin_waitset_source *s) {
    w->count[s->group]--;
    fin_link_remove(&s->link);
}

void fin_waitset_delist(struct fin_waitset *w, struct fin_waitset_source *s) {
    unlink_it(w, s);
    if (s->armed)
        fin_ump_disarm(rx_of(s));
    s->armed = false;
}

static void to_group(struct fin_waitset *w, struct fin_waitset_source *s, int group) {
    fin_waitset_delist(w, s);
    fin_waitset_enlist(w, s, group);
}

// Its end is told once.
static bool has_event(struct fin_waitset_source *s, bool deep) {
    if (!s->chan)
        return s->triggered;
    int found = fin_chan_look(s->chan, deep || s->triggered);
    s->triggered = false;
    return found == FIN_CHAN_HAS_MESSAGE || (found == FIN_CHAN_HAS_ENDED && !s->told);
}

// Puts those on a list of no group into one. First all are armed, then looked at (htm 5.2.1): a message that comes between
// is found, one that comes later rings.
static void arm(struct fin_waitset *w, struct fin_link *members) {
    bool barrier = false;
    for (struct fin_link *l = members->next; l != members; l = l->next) {
        struct fin_waitset_source *s = FIN_SOURCE_OF(l);
        s->armed = true;
        fin_ump_arm(rx_of(s));
        barrier |= !rx_of(s)->alone;
    }
    if (barrier)
        fin_ump_barrier();
    for (struct fin_link *l = members->next, *next; l != members; l = next) {
        struct fin_waitset_source *s = FIN_SOURCE_OF(l);
        next = l->next;
        fin_waitset_enlist(w, s, has_event(s, rx_of(s)->meeting) ? PENDING : rx_of(s)->meeting ? ASIDE : IDLE);
    }
}

static void arm_one(struct fin_waitset *w, struct fin_waitset_source *s) {
    struct fin_link one;
    fin_link_init(&one);
    fin_link_back(&one, &s->link);
    arm(w, &one);
}

void fin_waitset_place(struct fin_waitset *w, struct fin_waitset_source *s) {
    s->silence = 0;
    if (has_event(s, false))
        fin_waitset_enlist(w, s, PENDING);
    else if (!s->chan)
        fin_waitset_enlist(w, s, ASIDE);
    else if (rx_of(s)->alone || fin_waitset_sleepers(w) || w->monitor)
        arm_one(w, s);
    else
        fin_waitset_enlist(w, s, POLLED);
}

void fin_waitset_arm_all(struct fin_waitset *w) {
    struct fin_link all, *head = &w->group[POLLED];
    if (fin_link_empty(head))
        return;
    fin_link_between(&all, head->prev, head->next);
    fin_link_init(head);
    w->count[POLLED] = 0;
    arm(w, &all);
}

void fin_waitset_hear(struct fin_waitset *w) {
    struct epoll_event e[EVENTS];
    w->ticks = HEAR_EVERY;
    int n = epoll_wait(w->epoll, e, EVENTS, 0);
    for (int i = 0; i < n; i++) {
        struct fin_waitset_source *s = e[i].data.ptr;
        if (!s)
            w->rung = false; // the leader may not have heard it: it is rung again where there is need
        if (!s || __atomic_load_n(&s->set, __ATOMIC_RELAXED) != w)
            continue; // one that is being moved is looked at afterwards
        if (s->held || s->group == PENDING) {
            s->triggered = true;
        } else if (has_event(s, true)) {
            to_group(w, s, PENDING);
        } else if (s->armed) { // rung for nothing: its number is used up
            fin_waitset_delist(w, s);
            arm_one(w, s);
        }
    }
    if (n == EVENTS)
        w->ticks = 1;
}

// The next of the polled ones that has an event, fair to all; those that were silent for long are not polled any more.
static struct fin_waitset_source *poll_once(struct fin_waitset *w) {
    struct fin_link silent;
    struct fin_waitset_source *found = NULL;
    fin_link_init(&silent);
    for (uint32_t n = w->count[POLLED]; n && !found; n--) {
        struct fin_waitset_source *s = FIN_SOURCE_OF(w->group[POLLED].next);
        unlink_it(w, s);
        if (has_event(s, false))
            found = s;
        else if (++s->silence >= SILENCE && w->count[POLLED] >= FEW)
            fin_link_back(&silent, &s->link);
        else
            fin_waitset_enlist(w, s, POLLED);
    }
    if (!fin_link_empty(&silent))
        arm(w, &silent);
    return found;
}

static struct fin_waitset_source *first_pending(struct fin_waitset *w) {
    while (fin_waitset_any(w, PENDING)) {
        struct fin_waitset_source *s = FIN_SOURCE_OF(w->group[PENDING].next);
        fin_waitset_delist(w, s);
        if (has_event(s, false))
            return s;
        fin_waitset_place(w, s); // somebody received it
    }
    return NULL;
}

// One of the polled ones for each pending one: so a member that always has an event keeps no other from its turn.
static void look_at_next(struct fin_waitset *w) {
    struct fin_waitset_source *s = FIN_SOURCE_OF(w->group[POLLED].next);
    unlink_it(w, s);
    fin_waitset_enlist(w, s, has_event(s, false) ? PENDING : POLLED);
}

// Without waiting for the kernel to tell.
static struct fin_waitset_source *look_at_idle(struct fin_waitset *w) {
    if (w->count[IDLE] > FEW) {
        fin_waitset_hear(w);
        return first_pending(w);
    }
    for (struct fin_link *l = w->group[IDLE].next; l != &w->group[IDLE]; l = l->next) {
        struct fin_waitset_source *s = FIN_SOURCE_OF(l);
        if (has_event(s, false)) {
            fin_waitset_delist(w, s);
            return s;
        }
    }
    return NULL;
}

// The next event's, off its list; or NULL. `all`: it is not there, unless this says so.
static struct fin_waitset_source *find(struct fin_waitset *w, bool all) {
    if (w->epoll >= 0 && --w->ticks == 0)
        fin_waitset_hear(w);
    if (fin_waitset_any(w, PENDING) && fin_waitset_any(w, POLLED))
        look_at_next(w);
    struct fin_waitset_source *s = first_pending(w);
    if (!s)
        s = poll_once(w);
    if (!s && all)
        s = look_at_idle(w);
    if (!s)
        return NULL;
    s->triggered = false;
    s->told = s->chan && fin_chan_look(s->chan, false) == FIN_CHAN_HAS_ENDED;
    return s;
}

struct fin_waitset_source *fin_waitset_find(struct fin_waitset *w) { return find(w, false); }

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
        eventfd_write(w->bell, 1);
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
        unlink_it(w, s); // its receiver's side disarms it
        fin_waitset_enlist(w, s, PENDING);
    }
    fin_waitset_release(w);
}

// As the leader, who sleeps in the kernel, or a follower. Pre: the latch. Post: without it. 0, -ECANCELED, a shortage.
static FIN_BLOCKING int sleep_in(struct fin_waitset *w, bool nc) {
    if (w->epoll < 0 || w->led || w->monitor) {
        struct fin_waiter f;
        return fin_how_join(FIN_HOW_STACK(&f, nc), &w->waiters);
    }
    w->led = true;
    w->rung = false;
    fin_latch_release(&w->waiters.latch);
    int r = nc ? fin_poll_nc(w->epoll, POLLIN) : fin_poll(w->epoll, POLLIN);
    fin_latch_acquire(&w->waiters.latch);
    w->led = false;
    fin_waitset_hear(w);
    fin_waitset_release(w);
    return r < 0 ? r : 0;
}

struct patience {
    uint32_t looks, yields;
    bool slept;
};

// Another round over the polled ones, without the latch, rather than sleep?
static bool try_again(struct fin_waitset *w, struct patience *p) {
    p->looks += w->count[POLLED];
    return !fin_waitset_sleepers(w) && fin_waitset_any(w, POLLED) && p->looks < LOOKS && p->yields < YIELDS;
}

static FIN_BLOCKING void relax(struct patience *p) {
    struct fin_runtime *rt = fin_here();
    if (FIN_UNLIKELY(!fin_link_empty(&rt->queue) || pending_of(rt->thread.current) != NULL)) {
        p->yields++;
        fin_yield();
    }
}

// The event, with the latch; or an error, without it. The caller is a user of the set.
static FIN_BLOCKING int await(struct fin_waitset *w, bool nc, struct fin_waitset_source **out) {
    static __thread unsigned events;
    struct patience p = {0, 0, false};
    bool others = ++events % TURNS == 0;
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
        *out = r == 0 ? find(w, false) : NULL;
        if (*out)
            return 0;
        if (r == 0 && !try_again(w, &p)) {
            fin_waitset_arm_all(w);
            if (!fin_waitset_any(w, PENDING) && !p.slept) {
                p.slept = true;
                r = sleep_in(w, nc);
                if (r != 0)
                    return r;
                continue;
            }
        }
        fin_waitset_release(w);
        if (r != 0)
            return r;
        if (p.slept) // for nothing: a flood of rings keeps nobody else from running
            fin_yield();
        else
            relax(&p);
        p.slept = false;
    }
}

void fin_waitset_given_back(struct fin_waitset *w, struct fin_waitset_holder_ *h) {
    struct fin_waitset_source *s = h->source;
    if (!s)
        return;
    fin_waitset_delist(w, s);
    s->held = NULL;
    if (s->chan)
        rx_of(s)->watched = true;
    fin_waitset_place(w, s);
}

// Pre: s is on no list, and the latch is held. Post: it is not.
void fin_waitset_call(struct fin_waitset *w, struct fin_waitset_source *s) {
    struct fin_waitset_holder_ h = {s, w, false};
    fin_waitset_fn *fn = s->fn;
    void *arg = s->arg;
    s->held = &h;
    fin_waitset_enlist(w, s, ASIDE);
    if (s->chan)
        rx_of(s)->watched = false;
    fin_waitset_retain(w);
    fin_waitset_release(w);
    fn(arg);
    fin_latch_acquire(&w->waiters.latch);
    bool moved = h.moved;
    if (!moved)
        fin_waitset_given_back(w, &h);
    fin_waitset_release(w);
    if (moved)
        fin_waitset_return(&h);
    fin_waitset_drop(w);
}

static FIN_BLOCKING int dispatch_one(struct fin_waitset *w, bool nc) {
    struct fin_waitset_source *s;
    fin_waitset_retain(w);
    int r = await(w, nc, &s);
    if (r == 0)
        fin_waitset_call(w, s);
    fin_waitset_drop(w);
    return r;
}

int fin_waitset_dispatch(struct fin_waitset *w) { return dispatch_one(w, false); }
int fin_waitset_dispatch_nc(struct fin_waitset *w) { return dispatch_one(w, true); }

int fin_waitset_dispatch_nonblock(struct fin_waitset *w) {
    fin_latch_acquire(&w->waiters.latch);
    struct fin_waitset_source *s = w->closed ? NULL : find(w, true);
    if (s) {
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
    struct fin_waitset_source *s = w->closed ? NULL : find(w, true);
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
