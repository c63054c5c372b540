// SPDX-License-Identifier: BSD-2-Clause
// Who is in a waitset. See waitset.h for its locks. (models/move.pml)
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <fin/alert.h>

#include "chan/waitset.h"
#include "forks.h"

struct fin_latch fin_waitset_changes;

static uint32_t forks;

// The child of a fork has sets of its own, and not the thread that may have had the latch.
static void forget_parent(void) {
    forks++;
    fin_latch_init(&fin_waitset_changes);
    if (fin_self) {
        fin_rt(fin_self)->monitored = NULL;
        fin_rt(fin_self)->alerted = 0;
        fin_lines_forget(fin_rt(fin_self));
    }
}

int fin_waitset_new(struct fin_waitset **out) {
    static bool watched;
    int error = fin_watch_forks(&watched, forget_parent);
    struct fin_waitset *w = error ? NULL : malloc(sizeof *w);
    if (!w)
        return -ENOMEM;
    *w = (struct fin_waitset){.users = 1, .ticks = 1, .epoll = -1, .bell = -1, .forks = forks};
    for (int i = 0; i < GROUPS; i++)
        fin_link_init(&w->group[i]);
    *out = w;
    return 0;
}

void fin_waitset_retain(struct fin_waitset *w) { __atomic_add_fetch(&w->users, 1, __ATOMIC_RELAXED); }

void fin_waitset_drop(struct fin_waitset *w) {
    if (__atomic_sub_fetch(&w->users, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    if (w->epoll >= 0) {
        close(w->epoll);
        close(w->bell);
    }
    free(w);
}

// The latch that keeps a member in its set while its sender rings.
static struct fin_latch *own_latch(struct fin_waitset_source *s) {
    struct meeting *m = s->chan ? s->chan->in.ump.meeting : NULL;
    return m ? &m->latch : &s->latch;
}

static bool has_socket(const struct fin_waitset_source *s) { return s->chan && !s->chan->in.ump.meeting; }

static int epoll_change(struct fin_waitset *w, int op, struct fin_waitset_source *s) {
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = s};
    return epoll_ctl(w->epoll, op, s ? s->chan->in.ump.fd : w->bell, &e) == 0 ? 0 : -errno;
}

// The epoll, and a bell in it for who brings news that no socket brings.
static int epoll_open(struct fin_waitset *w) {
    struct epoll_event none;
    if (w->epoll >= 0)
        return 0;
    w->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->epoll = w->bell < 0 ? -1 : epoll_create1(EPOLL_CLOEXEC);
    int r = w->epoll < 0 ? -errno : epoll_change(w, EPOLL_CTL_ADD, NULL);
    if (r == 0 && epoll_wait(w->epoll, &none, 1, 0) < 0 && errno != EINTR) // a filter
        r = -errno;
    if (r == 0)
        return 0;
    if (w->bell >= 0)
        close(w->bell);
    if (w->epoll >= 0)
        close(w->epoll);
    w->epoll = w->bell = -1;
    return r;
}

// Latch of the set. What has happened meanwhile is found when it is placed.
static int enter(struct fin_waitset *w, struct fin_waitset_source *s) {
    int r = w->closed ? -ESHUTDOWN : has_socket(s) ? epoll_open(w) : 0;
    if (r == 0 && has_socket(s))
        r = epoll_change(w, EPOLL_CTL_ADD, s);
    if (r == 0 && w->monitor) {
        r = fin_waitset_signal(w, s, true);
        if (r != 0)
            epoll_change(w, EPOLL_CTL_DEL, s);
    }
    if (r == 0)
        __atomic_store_n(&s->set, w, __ATOMIC_RELAXED);
    return r;
}

static void watch(struct fin_waitset_source *s, bool now) {
    if (!s->chan)
        return;
    if (s->chan->in.ump.meeting)
        s->chan->in.ump.meeting->watch = now ? s : NULL;
    ump_watch(&s->chan->in.ump, now);
}

// Does nobody wait for a message there? Who begins to, from here on, is told that it is watched.
static bool begin_watch(struct fin_waitset_source *s) {
    if (!s->chan)
        return true;
    struct in *in = &s->chan->in;
    if (!turn_enter(&in->turn))
        return false;
    bool nobody = !in->turn.coming;
    ump_watch(&in->ump, nobody);
    turn_leave(&in->turn);
    return nobody;
}

static int add(struct fin_waitset *w, struct fin_waitset_source *s, fin_waitset_fn *fn, void *arg) {
    int r = -EBUSY;
    fin_latch_acquire(&fin_waitset_changes);
    fin_latch_acquire(own_latch(s));
    fin_latch_acquire(&w->waiters.latch);
    if (!s->set && !(s->chan && s->chan->rpc) && begin_watch(s)) {
        r = enter(w, s);
        watch(s, r == 0);
    }
    if (r == 0) {
        s->fn = fn;
        s->arg = arg;
        s->told = false;
        s->triggered = s->chan != NULL;
        fin_waitset_place(w, s);
    }
    fin_waitset_release(w);
    fin_latch_release(own_latch(s));
    fin_latch_release(&fin_waitset_changes);
    return r;
}

int fin_waitset_add(struct fin_waitset *w, struct fin_chan *c, fin_waitset_fn *fn, void *arg) {
    return add(w, &c->watch, fn, arg);
}

int fin_waitset_add_source(struct fin_waitset *w, struct fin_waitset_source *s, fin_waitset_fn *fn, void *arg) {
    return add(w, s, fn, arg);
}

// A child closes its parent's, at its exit perhaps: the epoll and the sockets' flags are the parent's as well.
bool fin_waitset_is_parents(const struct fin_waitset *w) { return w->forks != forks; }

// Latch of the set. The parent's threads, which wait there, are not in the child: it wakes nobody.
static void forget_waiting(struct fin_waitset *w) {
    if (!fin_waitset_is_parents(w))
        return;
    w->waiters.first = w->waiters.last = NULL;
    w->led = false;
}

// Latch of the set. Who runs its handler has nothing to do with it any more.
static void leave(struct fin_waitset *w, struct fin_waitset_source *s) {
    forget_waiting(w);
    if (fin_waitset_is_parents(w))
        s->line = 0; // its thread's list is not there
    fin_waitset_delist(w, s);
    if (has_socket(s) && !fin_waitset_is_parents(w))
        epoll_change(w, EPOLL_CTL_DEL, s);
    // in a move the other set has said already what it wants
    if (w->monitor && !fin_waitset_is_parents(w) && (s->set == w || !s->set->monitor))
        fin_waitset_signal(w, s, false);
    if (s->held)
        s->held->source = NULL;
    s->held = NULL;
    __atomic_store_n(&s->set, NULL, __ATOMIC_RELAXED);
}

// A thread of the parent was changing it: in the child it stays as it is.
static bool is_half_changed(const struct fin_waitset *w) {
    return fin_waitset_is_parents(w) && __atomic_load_n(&w->waiters.latch.held, __ATOMIC_RELAXED);
}

// With fin_waitset_changes. Of what somebody else handles, that handler's, whose list of removers `f`, if there is one, has
// joined by then, with its latch held; otherwise NULL.
static struct fin_waiters *take_out(struct fin_waitset_source *s, struct fin_waiter *f) {
    struct fin_latch *latch = own_latch(s);
    struct fin_waiters *removers = NULL;
    struct fin_waitset *w = s->set;
    if (fin_waitset_is_parents(w))
        fin_latch_init(latch); // who had it is not in the child
    if (is_half_changed(w)) {
        __atomic_store_n(&s->set, NULL, __ATOMIC_RELAXED);
        return NULL;
    }
    fin_latch_acquire(latch);
    fin_latch_acquire(&w->waiters.latch);
    if (f && s->held && !fin_waitset_is_parents(w)) { // whose thread is not here
        removers = &s->held->removers;
        fin_latch_acquire(&removers->latch);
        fin_waiters_insert(removers, f, NULL);
    }
    leave(w, s);
    watch(s, false);
    fin_waitset_release(w);
    fin_latch_release(latch);
    return removers;
}

static bool handles_itself(struct fin_waitset_source *s) {
    struct fin_latch *latch = &s->set->waiters.latch;
    fin_latch_acquire(latch);
    bool does = s->held && fin_is_called_here(fin_here(), &s->held->called);
    fin_latch_release(latch);
    return does;
}

// `f` and what it has joined: as of take_out.
static int remove_from(struct fin_waitset *w, struct fin_waitset_source *s, struct fin_waiter *f,
                       struct fin_waiters **joined) {
    int r = -ENOENT;
    fin_latch_acquire(&fin_waitset_changes);
    if (s->set && (!w || s->set == w))
        r = f && handles_itself(s) ? -EDEADLK : 0;
    *joined = r == 0 ? take_out(s, f) : NULL;
    fin_latch_release(&fin_waitset_changes);
    return r;
}

static int remove_now(struct fin_waitset *w, struct fin_waitset_source *s) {
    struct fin_waiters *none;
    return remove_from(w, s, NULL, &none);
}

int fin_waitset_remove(struct fin_waitset *w, struct fin_chan *c) { return remove_now(w, &c->watch); }
int fin_waitset_remove_source(struct fin_waitset *w, struct fin_waitset_source *s) { return remove_now(w, s); }

int fin_waitset_remove_source_wait_nc(struct fin_waitset *w, struct fin_waitset_source *s) {
    struct fin_waiter f = {.kind = FIN_WAITS_PLAIN};
    struct fin_waiters *removers;
    int r = remove_from(w, s, &f, &removers);
    if (removers)
        fin_waiter_wait(removers, &f, FIN_FOR_SYNC);
    return r;
}

int fin_waitset_remove_wait_nc(struct fin_waitset *w, struct fin_chan *c) {
    return fin_waitset_remove_source_wait_nc(w, &c->watch);
}

void fin_waitset_leave(struct fin_waitset_source *s) {
    if (__atomic_load_n(&s->set, __ATOMIC_RELAXED)) // its owner closes it: nobody else puts it in or moves it
        remove_now(NULL, s);
}

void fin_waitset_look_again(struct fin_waitset_source *s) {
    struct fin_latch *latch = own_latch(s);
    fin_latch_acquire(latch);
    if (s->set)
        fin_waitset_rung(s);
    fin_latch_release(latch);
}

// From one set to another, with the latches of both. Where a handler runs, who called it now has to do with `to`.
static int transfer(struct fin_waitset *from, struct fin_waitset *to, struct fin_waitset_source *s) {
    struct fin_waitset_holder_ *h = s->held;
    int r = enter(to, s);
    if (r != 0)
        return r;
    leave(from, s);
    s->set = to;
    s->triggered = true;
    if (!h) {
        fin_waitset_place(to, s);
        return 0;
    }
    fin_waitset_enlist(to, s, ASIDE);
    s->held = h;
    h->source = s;
    h->set = to;
    if (!h->moved) // once it is, who looks at it has the latch of a set that may be neither of these
        h->moved = true;
    fin_waitset_retain(to);
    return 0;
}

int fin_waitset_move(struct fin_waitset *to, struct fin_chan *c) {
    struct fin_waitset_source *s = &c->watch;
    fin_latch_acquire(&fin_waitset_changes);
    struct fin_waitset *from = s->set;
    if (!from || from == to) {
        fin_latch_release(&fin_waitset_changes);
        return from ? 0 : -ENOENT;
    }
    fin_latch_acquire(own_latch(s));
    fin_latch_acquire(&from->waiters.latch);
    fin_latch_acquire(&to->waiters.latch);
    bool again = s->held && s->held->moved;
    int r = transfer(from, to, s);
    fin_waitset_release(to);
    fin_waitset_release(from);
    fin_latch_release(own_latch(s));
    fin_latch_release(&fin_waitset_changes);
    if (r == 0 && again)
        fin_waitset_drop(from); // the holder's use
    return r;
}

void fin_waitset_return(struct fin_waitset_holder_ *h) {
    fin_latch_acquire(&fin_waitset_changes);
    struct fin_waitset *w = h->set;
    fin_latch_acquire(&w->waiters.latch);
    fin_waitset_given_back(w, h);
    fin_waitset_release(w);
    fin_latch_release(&fin_waitset_changes);
    fin_waitset_drop(w);
}

static struct fin_waitset_source *any_member(struct fin_waitset *w) {
    for (int i = PENDING; i < GROUPS; i++)
        if (fin_waitset_any(w, i))
            return FIN_SOURCE_OF(w->group[i].next);
    return NULL;
}

void fin_waitset_shutdown(struct fin_waitset *w) {
    struct fin_waitset_source *s;
    if (is_half_changed(w))
        return;
    fin_latch_acquire(&w->waiters.latch);
    forget_waiting(w);
    fin_latch_release(&w->waiters.latch);
    fin_latch_acquire(&fin_waitset_changes);
    fin_waitset_poll_again(w);
    do {
        fin_latch_acquire(&w->waiters.latch);
        w->closed = true; // nobody has begun to monitor it meanwhile
        s = any_member(w);
        fin_waitset_release(w);
        if (s)
            take_out(s, NULL);
    } while (s);
    fin_latch_release(&fin_waitset_changes);
}

void fin_waitset_close(struct fin_waitset *w) {
    if (is_half_changed(w))
        return;
    fin_waitset_shutdown(w);
    fin_waitset_drop(w);
}

void fin_waitset_trigger(struct fin_waitset_source *s) {
    fin_latch_acquire(&s->latch);
    if (s->set)
        fin_waitset_rung(s);
    fin_latch_release(&s->latch);
}
