// SPDX-License-Identifier: BSD-2-Clause
// What the files of this room share.
#ifndef FIN_CHAN_CHAN_H
#define FIN_CHAN_CHAN_H

#include <fin/chan.h>
#include <fin/waitset.h>

#include "chan/bell.h"
#include "chan/turn.h"
#include "core/trace.h"

struct out {
    struct ump_tx ump; // first
    bool quick;        // neither shared nor of one thread, and nobody has the turn
    bool here;         // of one thread, and nobody has the turn
    size_t most;
    size_t reserved; // 0, or what fin_chan_commit may send and one more
    uint32_t tries;  // that found no room
    struct turn turn;
} __attribute__((aligned(64)));

struct in {
    struct ump_rx ump; // first
    bool quick;
    bool missed;    // a waitset has looked, and somebody had the turn, or took its rings: it is to look again
    uint32_t tries;  // that found nothing
    uint64_t looked; // for the sender: as `alive` of who sends
    size_t most;
    uint64_t peeked; // header
    struct turn turn;
} __attribute__((aligned(64)));

// The memory, mapped; and of a pair in one process, where its ends meet in each direction.
struct shared_map {
    uint32_t users;
    char *base;
    size_t size;
    uint64_t id; // of the memory, the same in all processes: for a trace
    struct meeting meeting[2];
};

// The sockets of an end between processes, open or on its way to be. Each direction has one (see open.c).
enum {
    FIN_CHAN_TO_OFFER, // from who takes to who offers
    FIN_CHAN_TO_TAKER, // from who offers to who takes: the connection that they had before
    FIN_CHAN_OFFERED,  // for the other side, until it is sent there
    FIN_CHAN_MEMORY,   // no socket: likewise
    FIN_CHAN_SOCKETS,
};

struct fin_chan {
    struct out out;
    struct in in;
    struct shared_map *map;
    struct fin_waitset_source watch; // its place in a waitset
    uint64_t told_at;                // `in.ump.tail` when that told the end: watch.told
    struct fin_link link;            // in the list of all ends
    int sockets[FIN_CHAN_SOCKETS];   // -1: none. The child of a fork closes them
    struct fin_rpc *rpc;             // that it has become the end of
};

// A reservation of the quick half has the turn without its mutex, as each store more would cost a line on its way to the
// receiver a place in the processor's store buffer. Whoever looks at the mutex makes that good first. From then on the end
// is not quick: the turn may be handed to somebody who waits, and nobody is to go ahead of him.
static inline void out_settle(struct fin_chan *c) {
    if (!c->out.turn.shared && c->out.reserved) {
        c->out.turn.mutex.locked = true;
        c->out.quick = false;
    }
}

// The quick half of those who receive is for an end that is not shared, while nobody has the turn. Of one that is, `quick`
// is false and is never written: other threads read it.
static inline void in_not_quick(struct fin_chan *c) {
    if (!c->in.turn.shared)
        c->in.quick = false;
}

static inline FIN_BLOCKING int in_take(struct fin_chan *c, bool nc) {
    int r = turn_take(&c->in.turn, nc);
    if (r == 0)
        in_not_quick(c);
    return r;
}

// Pre: the end is not shared, and nobody has the turn.
static inline void in_quick(struct fin_chan *c) { c->in.quick = !c->in.ump.broken && !fin_trace_is_on(); }

void fin_chan_look_again(struct fin_chan *c); // chan.c

static inline void in_give(struct fin_chan *c) {
    if (turn_give(&c->in.turn))
        in_quick(c);
    if (FIN_UNLIKELY(__atomic_load_n(&c->in.missed, __ATOMIC_RELAXED)))
        fin_chan_look_again(c);
}

// send.c: sends the word and the data as one message. As fin_chan_send and fin_chan_send_nc.
FIN_BLOCKING int fin_chan_send_behind(struct fin_chan *c, uint64_t word, const void *data, size_t size, bool nc);

// requests.c: that is to sleep for room. The other side knows, and says from here on when it has taken something. 0 or
// -ENOMEM, and then it must not. `again`: it has been woken, and found none.
int fin_rpc_no_room(struct fin_chan *c, uint64_t word, bool again);
void fin_rpc_has_slept(struct fin_chan *c, uint64_t word); // after fin_rpc_no_room

// chan.c: as fin_chan_recv, of an end whose sender is on this thread, where there is more to it than to wait for that one.
FIN_BLOCKING ssize_t fin_chan_recv_there(struct fin_chan *c, void *buffer, size_t size, bool nc);

// For those who wait with a continuation. send.c: without waiting; 0, -EAGAIN, or why not.
int fin_chan_send_now(struct fin_chan *c, const void *data, size_t size); // not cancelled
int fin_chan_send_behind_now(struct fin_chan *c, uint64_t word, const void *data, size_t size);
// With the turn; pre: it is not too long. The word goes before the data, where it is not NULL.
int fin_chan_put_now(struct fin_chan *c, const uint64_t *word, const void *data, size_t size);
void fin_chan_out_not_quick(struct fin_chan *c);                          // who has taken the turn says so
void fin_chan_out_give(struct fin_chan *c);
// chan.c: with the turn. The length; -EAGAIN: nothing is there yet; or why nothing will be, as far as the socket has told.
ssize_t fin_chan_take_now(struct fin_chan *c, void *buffer, size_t size);
ssize_t fin_chan_peek_now(struct fin_chan *c, const void **bytes); // which keeps the turn; fin_chan_release gives it

// trace.c: tells a trace which message comes next.
void fin_chan_trace(const struct fin_chan *c, bool sends);
// An end that is opened or closed: a trace that begins finds all that there are. 0 or -ENOMEM.
int fin_chan_trace_add(struct fin_chan *c);
void fin_chan_trace_remove(struct fin_chan *c);
// chan.c: what a receiver would find, and where it stands. Told by whoever may receive; `deep`: looks at the socket, too.
enum { FIN_CHAN_NOTHING, FIN_CHAN_HAS_MESSAGE, FIN_CHAN_HAS_ENDED };
int fin_chan_look(struct fin_chan *c, bool deep, uint64_t *at);

// dispatch.c: the sender has rung, or the source was triggered. Its latch is held, which keeps it in its set.
void fin_waitset_rung(struct fin_waitset_source *s);
// waitset.c: takes it out of the set that it is in, if it is in one.
void fin_waitset_leave(struct fin_waitset_source *s);
// It is an event that something may have happened there.
void fin_waitset_look_again(struct fin_waitset_source *s);

// region.c
int fin_chan_memory_new(size_t size);           // a sealed memfd, or -errno
int fin_chan_memory_check(int fd, size_t size); // 0, or -EPROTO where touching it might not be safe

#endif
