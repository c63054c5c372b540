// SPDX-License-Identifier: BSD-2-Clause
// The groups that the members of a waitset are in, and how an event is found there. See waitset.h for the invariants.
// (models/waitset.pml, move.pml)
#define _GNU_SOURCE
#include <errno.h>
#include <sys/epoll.h>

#include "chan/wait.h"
#include "chan/waitset.h"

enum {
    FEW = 64,        // as many are looked at for the price of a system call: they stay polled until somebody sleeps
    SILENCE = 64,    // looks in vain until one of more goes idle: as much as it costs to have it ring
    HEAR_EVERY = 32, // looks for an event between two at what the kernel tells
    EVENTS = 64,     // taken from the kernel at a time
};

static struct ump_rx *rx_of(struct fin_waitset_source *s) { return &s->chan->in.ump; }

void fin_waitset_enlist(struct fin_waitset *w, struct fin_waitset_source *s, int group) {
    s->group = (uint8_t)group;
    w->count[group]++;
    fin_link_back(&w->group[group], &s->link);
}

void fin_waitset_delist(struct fin_waitset *w, struct fin_waitset_source *s) {
    fin_waitset_unlink(w, s);
    if (s->armed)
        fin_ump_disarm(rx_of(s));
    s->armed = false;
    fin_lines_remove(w->monitor, s);
}

static void to_group(struct fin_waitset *w, struct fin_waitset_source *s, int group) {
    fin_waitset_delist(w, s);
    fin_waitset_enlist(w, s, group);
}

// Its end is told once; but again where the handler has got a message, and not the end: one that came in between.
static bool has_event(struct fin_waitset_source *s, bool deep) {
    uint64_t at = 0;
    if (!s->chan)
        return s->triggered;
    int found = fin_chan_look(s->chan, deep || s->triggered, &at);
    s->triggered = false;
    return found == FIN_CHAN_HAS_MESSAGE || (found == FIN_CHAN_HAS_ENDED && !(s->told && s->chan->told_at == at));
}

static bool steps_look(struct fin_waitset *w, struct fin_waitset_source *s) {
    bool may = w->monitor && !w->others && !rx_of(s)->alone;
    return may && fin_lines_add(w->monitor, s);
}

// Its message will ring, or change the line that steps look at. Is a barrier to follow?
static bool arm_now(struct fin_waitset *w, struct fin_waitset_source *s) {
    s->armed = !steps_look(w, s);
    return s->armed && fin_ump_arm(rx_of(s));
}

// Puts those on a list of no group into one. First all are armed, then looked at (htm 5.2.1): a message that comes between
// is found, one that comes later rings, or changes the line that steps look at.
static void arm(struct fin_waitset *w, struct fin_link *members) {
    bool barrier = false;
    for (struct fin_link *l = members->next; l != members; l = l->next) {
        struct fin_waitset_source *s = FIN_SOURCE_OF(l);
        barrier |= arm_now(w, s);
    }
    if (barrier)
        fin_ump_barrier();
    for (struct fin_link *l = members->next, *next; l != members; l = next) {
        struct fin_waitset_source *s = FIN_SOURCE_OF(l);
        next = l->next;
        bool event = has_event(s, rx_of(s)->meeting);
        while (!event && fin_lines_left(w->monitor, s)) { // a skip was there, or a message that another thread has taken
            fin_lines_remove(w->monitor, s);
            if (arm_now(w, s))
                fin_ump_barrier();
            event = has_event(s, false);
        }
        if (event)
            fin_lines_remove(w->monitor, s); // it waits to be handled, while steps go on
        fin_waitset_enlist(w, s, event ? PENDING : rx_of(s)->meeting ? ASIDE : IDLE);
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
    if (w->monitor && w->monitor != fin_here() && !w->others) {
        w->others = true;
        fin_waitset_arm_lines(w, w->monitor);
    }
    if (fin_link_empty(head))
        return;
    fin_link_between(&all, head->prev, head->next);
    fin_link_init(head);
    w->count[POLLED] = 0;
    arm(w, &all);
}

// True: there may be more.
static bool hear_some(struct fin_waitset *w) {
    struct epoll_event e[EVENTS];
    int n;
    do
        n = epoll_wait(w->epoll, e, EVENTS, 0);
    while (n < 0 && errno == EINTR); // Linux does not say so to who does not wait; what stands before it may
    if (n < 0 && fin_host_denied(-errno)) // since the first member came: it has been tried then
        fin_host_die_of("nobody can hear of the messages in a waitset, as epoll_wait(2) fails", errno, "");
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
    return n == EVENTS;
}

// Until one is pending, or each has had its turn, so that nobody keeps the thread here who rings for nothing: whoever rings
// meanwhile alerts again, but of what was left behind such rings nobody would be told again.
void fin_waitset_hear(struct fin_waitset *w) {
    uint32_t members = 0, heard = EVENTS;
    for (int g = 0; g < GROUPS; g++)
        members += w->count[g];
    bool more = hear_some(w);
    for (; more && heard <= members && !fin_waitset_any(w, PENDING); heard += EVENTS)
        more = hear_some(w);
    w->ticks = more ? 1 : HEAR_EVERY;
}

void fin_waitset_look_at_lines(struct fin_waitset *w) {
    struct fin_waitset_source *s;
    for (uint32_t i = FIN_LINES; (s = fin_lines_next_changed(w->monitor, w, &i)) != NULL;) {
        fin_waitset_delist(w, s);
        if (has_event(s, false))
            fin_waitset_enlist(w, s, PENDING);
        else
            arm_one(w, s); // the line was a skip's, or somebody has received the message
    }
}

void fin_waitset_arm_lines(struct fin_waitset *w, struct fin_runtime *rt) {
    struct fin_link all;
    struct fin_waitset_source *s;
    fin_link_init(&all);
    while ((s = fin_lines_take(rt, w)) != NULL) {
        fin_waitset_unlink(w, s);
        fin_link_back(&all, &s->link);
    }
    if (!fin_link_empty(&all))
        arm(w, &all);
}

static void take_armed(struct fin_waitset *w, int group, struct fin_link *taken) {
    uint32_t room = fin_lines_room(w->monitor);
    for (struct fin_link *l = w->group[group].next, *next; l != &w->group[group] && room; l = next) {
        struct fin_waitset_source *s = FIN_SOURCE_OF(l);
        next = l->next;
        if (!s->armed)
            continue;
        fin_waitset_delist(w, s);
        fin_link_back(taken, &s->link);
        room--;
    }
}

void fin_waitset_list_lines(struct fin_waitset *w) {
    struct fin_link all;
    fin_link_init(&all);
    take_armed(w, IDLE, &all);
    take_armed(w, ASIDE, &all);
    arm(w, &all);
}

// The next of the polled ones that has an event, fair to all; those that were silent for long are not polled any more.
static struct fin_waitset_source *poll_once(struct fin_waitset *w) {
    struct fin_link silent;
    struct fin_waitset_source *found = NULL;
    fin_link_init(&silent);
    for (uint32_t n = w->count[POLLED]; n && !found; n--) {
        struct fin_waitset_source *s = FIN_SOURCE_OF(w->group[POLLED].next);
        fin_waitset_unlink(w, s);
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
    fin_waitset_unlink(w, s);
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

struct fin_waitset_source *fin_waitset_find(struct fin_waitset *w, bool all) {
    if (w->epoll >= 0 && --w->ticks == 0)
        fin_waitset_hear(w);
    if (FIN_UNLIKELY(w->monitor != NULL) && fin_lines_on(w->monitor))
        fin_waitset_look_at_lines(w);
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
    s->told = s->chan && fin_chan_look(s->chan, false, &s->chan->told_at) == FIN_CHAN_HAS_ENDED;
    if (s->told && w->monitor)
        fin_waitset_signal(w, s, false);
    return s;
}
