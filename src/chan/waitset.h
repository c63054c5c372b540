// SPDX-License-Identifier: BSD-2-Clause
// What the files of waitsets share.
//
// Locks: fin_waitset_changes, of all that puts members in and takes them out; then a channel's or source's own latch,
// which keeps it in its set while its sender rings; then the latch of one set, or in a move of two; then that of the turn of
// a member that is shared, to look what is there.
//
// Every member is on the list of its group. Of an armed one the sender rings: between processes through a socket that the
// set's epoll watches (IDLE), within a process by fin_waitset_rung (ASIDE).
//
// Invariants, whenever the latch is free:
// - While somebody sleeps, or the set is monitored, nobody is POLLED: all are armed. So what comes is told. While the thread
//   that monitors the set runs steps some need not be: lines.h.
// - While somebody sleeps and there is a PENDING one, somebody has been woken and has not looked yet.
// - While a follower sleeps and there are sockets, a leader sleeps in the epoll, or somebody has been woken to be one;
//   unless the set is monitored: then the sockets signal the thread that monitors it, which looks.
// Who leaves a call, for whatever reason, goes through fin_waitset_release, which wakes the next where that is needed.
#ifndef FIN_CHAN_WAITSET_H
#define FIN_CHAN_WAITSET_H

#include <fin/waitset.h>

#include "chan/chan.h"
#include "chan/lines.h"
#include "chan/wait.h"
#include "core/link.h"
#include "sync/wait.h"

enum { NOWHERE, PENDING, POLLED, IDLE, ASIDE, GROUPS };
enum { EVENTS_A_TURN = 16 }; // between two turns of others

struct fin_waitset {
    struct fin_waiters waiters; // who sleeps as a follower; the latch guards all
    struct fin_link group[GROUPS];
    uint32_t count[GROUPS];
    uint32_t users; // the set itself; who waits; who calls a handler
    uint32_t ticks; // until what the kernel tells is to be heard
    int epoll, bell; // -1 while nothing needs them
    uint32_t forks;  // how many there had been when it was made
    bool led;        // somebody sleeps in the epoll
    bool rung;       // and the bell was rung for it
    bool closed;
    bool others; // monitored, it has been waited in by another thread, which the senders have to wake
    struct fin_runtime *monitor; // whose alerts are raised for it; NULL: it is polled. Set with fin_waitset_changes, too
    struct fin_waitset *next;    // of those that that one monitors; likewise
};

extern struct fin_latch fin_waitset_changes;

// In the frame of who calls a handler, and is a user of the set that the event is of. The set is the one that the member is
// in by now; where it was moved the holder is a user of that one, too.
struct fin_waitset_holder_ {
    struct fin_called called; // first
    struct fin_waitset_source *source; // NULL: it has been removed
    struct fin_waitset *set, *events;
    struct fin_waiters removers; // who has removed the member, and waits until the handler has returned: one at most
    bool moved;
};

static inline bool fin_waitset_sleepers(const struct fin_waitset *w) { return w->waiters.first || w->led; }
static inline bool fin_waitset_any(const struct fin_waitset *w, int group) { return w->count[group] != 0; }

// Before who waits sleeps: looks at polled ones, and turns that others of the thread have had between them.
struct patience {
    uint32_t looks, yields;
    bool turn_due; // others of this processor are to have one, too
};

// Another round, without the latch, rather than sleep?
static inline bool fin_waitset_try_again(const struct fin_waitset *w, struct patience *p) {
    uint32_t turns = p->looks / LOOKS_A_TURN;
    p->looks += w->count[POLLED];
    bool again = !fin_waitset_sleepers(w) && fin_waitset_any(w, POLLED) && p->looks < SPIN_LOOKS && p->yields < SPIN_YIELDS;
    p->turn_due = again && p->looks / LOOKS_A_TURN != turns;
    return again;
}

#define FIN_SOURCE_OF(l) ((struct fin_waitset_source *)((char *)(l) - offsetof(struct fin_waitset_source, link)))

// All with the latch of the set.
void fin_waitset_place(struct fin_waitset *w, struct fin_waitset_source *s); // on no list: into a group, by what is in it
void fin_waitset_enlist(struct fin_waitset *w, struct fin_waitset_source *s, int group);
static inline void fin_waitset_unlink(struct fin_waitset *w, struct fin_waitset_source *s) {
    w->count[s->group]--;
    fin_link_remove(&s->link);
}
// Disarms it, too.
void fin_waitset_delist(struct fin_waitset *w, struct fin_waitset_source *s);
void fin_waitset_hear(struct fin_waitset *w); // what the kernel tells
void fin_waitset_given_back(struct fin_waitset *w, struct fin_waitset_holder_ *h); // its handler has returned
void fin_waitset_release(struct fin_waitset *w); // the latch

// The next event's, off its list; NULL: there is none. `all`: of those whose senders ring, too, without waiting for that.
struct fin_waitset_source *fin_waitset_find(struct fin_waitset *w, bool all);
// Calls its handler; without the latch afterwards, and no longer a user of the set: for the caller.
FIN_BLOCKING void fin_waitset_call(struct fin_waitset *w, struct fin_waitset_source *s);
void fin_waitset_arm_all(struct fin_waitset *w);
// The next of those who sleep, where somebody is to be woken, no longer one of them; or NULL.
struct fin_waiter *fin_waitset_next_follower(struct fin_waitset *w);
int fin_waitset_signal(struct fin_waitset *w, struct fin_waitset_source *s, bool on); // by its socket. 0 or -errno
void fin_waitset_poll_again(struct fin_waitset *w); // fin_waitset_poll, with fin_waitset_changes and not the latch

// Of those whose lines steps look at (lines.h), with the latch of the set:
void fin_waitset_look_at_lines(struct fin_waitset *w); // those that changed are events, or listed anew
void fin_waitset_list_lines(struct fin_waitset *w);    // they are listed, as many as there is room for, and not armed
void fin_waitset_arm_lines(struct fin_waitset *w, struct fin_runtime *rt); // they are armed, and rt's steps do not look

// alert.c
int fin_alert_begin(struct fin_runtime *rt);     // 0 or -errno
void fin_alert_raise(struct fin_runtime *rt);    // from any thread
FIN_BLOCKING void fin_alert_handle(struct fin_runtime *rt); // for the running AWE, with alerts disabled
FIN_BLOCKING void fin_alert_let_first_wait(struct fin_runtime *rt); // rt->precedes: before it computes

bool fin_waitset_is_parents(const struct fin_waitset *w); // of a fork

// The last user frees it. Without the latch.
void fin_waitset_drop(struct fin_waitset *w);
void fin_waitset_retain(struct fin_waitset *w); // with it

// Its handler has returned, and it had been moved meanwhile.
void fin_waitset_return(struct fin_waitset_holder_ *h);

#endif
