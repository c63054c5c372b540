// SPDX-License-Identifier: BSD-2-Clause
// Waitsets whose events interrupt the thread that monitors them (htm 4.3).
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <fin/alert.h>

#include "chan/host.h"
#include "chan/waitset.h"

// The kernel signals the one thread for each packet that comes, whoever sends it. Packets come to the armed only; what a
// hostile one sends after its end was told alerts nobody.
int fin_waitset_signal(struct fin_waitset *w, struct fin_waitset_source *s, bool on) {
    if (!s->chan || s->chan->in.ump.meeting || (on && s->told))
        return 0;
    int fd = s->chan->in.ump.fd, flags = fcntl(fd, F_GETFL);
    struct f_owner_ex owner = {F_OWNER_TID, w->monitor->tid};
    if (flags < 0 || (on && (fcntl(fd, F_SETSIG, SIGURG) != 0 || fcntl(fd, F_SETOWN_EX, &owner) != 0)))
        return -errno;
    return fcntl(fd, F_SETFL, on ? flags | O_ASYNC : flags & ~O_ASYNC) == 0 ? 0 : -errno;
}

static int signal_all(struct fin_waitset *w, bool on) {
    for (int i = PENDING; i < GROUPS; i++)
        for (struct fin_link *l = w->group[i].next; l != &w->group[i]; l = l->next) {
            int r = fin_waitset_signal(w, FIN_SOURCE_OF(l), on);
            if (r != 0 && on)
                return r;
        }
    return 0;
}

// With the latch. First all signals are on, then all are armed, then looked at. Those that were armed before may have rung
// when nobody waited: the epoll has that still, and no signal will say so.
static int monitor(struct fin_waitset *w, struct fin_runtime *rt) {
    if (w->closed)
        return -ESHUTDOWN;
    if (w->monitor)
        return w->monitor == rt ? 0 : -EBUSY;
    w->monitor = rt;
    w->others = false;
    for (const struct fin_waiter *f = w->waiters.first; f; f = f->next)
        w->others |= f->awe->owner != rt;
    int r = signal_all(w, true);
    if (r != 0) {
        signal_all(w, false);
        w->monitor = NULL;
        return r;
    }
    rt->lines.wanted = true; // also where steps look at lines: its members are armed so far
    w->next = rt->monitored;
    rt->monitored = w;
    fin_waitset_arm_all(w);
    if (w->epoll >= 0)
        fin_waitset_hear(w);
    if (w->led) {
        w->rung = true;
        eventfd_write(w->bell, 1); // it has nobody to lead
    }
    return 0;
}

int fin_waitset_monitor(struct fin_waitset *w) {
    struct fin_runtime *rt = fin_here();
    int r = fin_alert_begin(rt);
    if (r != 0)
        return r;
    fin_latch_acquire(&fin_waitset_changes);
    fin_latch_acquire(&w->waiters.latch);
    r = monitor(w, rt);
    fin_waitset_release(w);
    fin_latch_release(&fin_waitset_changes);
    return r;
}

void fin_waitset_poll_again(struct fin_waitset *w) {
    fin_latch_acquire(&w->waiters.latch);
    if (w->monitor) {
        struct fin_runtime *rt = w->monitor;
        struct fin_waitset **at = &rt->monitored;
        while (*at && *at != w)
            at = &(*at)->next;
        if (*at)
            *at = w->next;
        signal_all(w, false);
        w->monitor = NULL;
        if (!fin_waitset_is_parents(w))
            fin_waitset_arm_lines(w, rt);
    }
    fin_waitset_release(w);
}

void fin_waitset_poll(struct fin_waitset *w) {
    fin_latch_acquire(&fin_waitset_changes);
    fin_waitset_poll_again(w);
    fin_latch_release(&fin_waitset_changes);
}

// Nobody raises an alert in the runtime after that, which another thread may have next.
void fin_chan_thread_ends(struct fin_runtime *rt) {
    if (fin_lines_on(rt))
        fin_lines_end(rt);
    fin_latch_acquire(&fin_waitset_changes);
    while (rt->monitored)
        fin_waitset_poll_again(rt->monitored);
    fin_latch_release(&fin_waitset_changes);
    __atomic_store_n(&rt->computing, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&rt->alerted, 0, __ATOMIC_RELAXED);
}

bool fin_waitset_is_monitored(struct fin_waitset *w) {
    fin_latch_acquire(&w->waiters.latch);
    bool is = w->monitor;
    fin_latch_release(&w->waiters.latch);
    return is;
}

// A monitored set has nothing to be polled: what was silent and what was not are armed alike.
int fin_waitset_dispatch_monitored(struct fin_waitset *w) { return fin_waitset_dispatch(w); }
int fin_waitset_dispatch_monitored_nc(struct fin_waitset *w) { return fin_waitset_dispatch_nc(w); }
