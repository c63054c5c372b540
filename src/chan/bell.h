// SPDX-License-Identifier: BSD-2-Clause
// What wakes the other side, and what travels beside the ring. Between processes each direction has a Unix socket: a packet
// is a ring of the bell, descriptors come in packets, and the end of the socket is the end of the other side. Within a
// process there is a meeting instead.
#ifndef FIN_CHAN_BELL_H
#define FIN_CHAN_BELL_H

#include <errno.h>
#include <sys/types.h>

#include <fin/sync.h>

#include "chan/ump.h"
#include "core/host.h"

struct parcel {
    struct parcel *next;
    int count, fds[UMP_FDS];
};

// Descriptors that nobody wants. To close them may take some milliseconds, so it is done without a latch.
struct unwanted {
    int count, fds[UMP_FDS];
    bool within; // the process
};

struct fin_chan;
struct lmp_waiter; // lmp.c

struct meeting {
    struct lmp_waiter *waiter;      // of one thread: who waits for a message
    bool news;                      // of one thread: there may be something in the ring, or the sender be gone
    struct fin_event message, room; // rings so far
    struct fin_latch parcels;       // taken last, by who may have the turn's; of the next three
    struct parcel *first, *last;
    bool closed;                      // the receiver is: it takes no parcels
    struct fin_latch latch;           // see waitset.h
    struct fin_waitset_source *watch; // the receiver's, in a waitset
};

// The bell of a meeting, or a packet to the socket's other end. Does not block.
void fin_bell_ring_message(struct ump_tx *tx);
void fin_bell_ring_room(struct ump_rx *rx);

// What a wait for the socket may end with besides: of this wait only, as the thread cannot get what it waits with, or is
// denied it; or nothing. Neither is news of the other side.
static inline bool fin_bell_of_this_wait(ssize_t r) {
    bool shortage = r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -ENOBUFS || r == -ENOSPC;
    return r == -ECANCELED || shortage || fin_host_denied((int)r);
}
static inline bool fin_bell_nothing(ssize_t r) { return r == -EAGAIN || r == -EINTR; }

// Sleep until there is a ring after `heard`, or the other side is gone; both are told in *rx and *tx. Returns 0; -ECANCELED;
// or another that is of this wait.
FIN_BLOCKING int fin_bell_await_message(struct ump_rx *rx, uint64_t heard, bool nc);
FIN_BLOCKING int fin_bell_await_room(struct ump_tx *tx, uint64_t heard, bool nc);

void fin_bell_close(struct unwanted *u);
static inline void bell_close(struct unwanted *u) {
    if (__builtin_expect(u->count != 0, 0))
        fin_bell_close(u);
}

// Is the other side's process gone? Does not block. False where that is not known.
bool fin_bell_is_cut(int fd);

// What has come of rings for room, between processes; one at a time. Does not block. 0, or what is of this wait.
int fin_bell_hear_room(struct ump_tx *tx, struct unwanted *u);

// Takes what is in the socket now, and looks whether the sender is gone. Does not block.
void fin_bell_empty(struct ump_rx *rx);
// Takes one packet, between processes: there may be more.
void fin_bell_hear(struct ump_rx *rx);

// Descriptors go before their message. Takes those of the message that is there: returns their number, or -errno. What is
// then to be closed is in *u, whose count was 0.
FIN_BLOCKING int fin_bell_send_fds(struct ump_tx *tx, const int *fds, int count, bool nc);
int fin_bell_try_send_fds(struct ump_tx *tx, const int *fds, int count); // -EAGAIN instead of waiting
int fin_bell_take_fds(struct ump_rx *rx, int *fds, int most, struct unwanted *u);
void fin_bell_drop_fds(struct ump_rx *rx, struct unwanted *u);

// Who sleeps for a message wakes up, and finds the sender gone.
void fin_bell_stop(struct ump_rx *rx);
// Who sleeps for room wakes up, and looks again. No more is told there.
void fin_bell_stop_waiting(struct ump_tx *tx);
// One of a channel, or of one that does not come to be. Descriptors that lie there unread keep nobody waiting.
void fin_bell_end_socket(int fd);
// Tells the other side that this one is gone.
void fin_bell_end(struct ump_tx *tx, struct ump_rx *rx);
// In the child of a fork, of an end of its parent: closes the copies of its sockets, and tells the other side nothing more.
void fin_bell_forget(struct fin_chan *c);
bool fin_bell_is_parents(const struct fin_chan *c);
void fin_meeting_end(struct meeting *m);

#endif
