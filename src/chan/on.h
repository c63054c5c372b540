// SPDX-License-Identifier: BSD-2-Clause
// Waits for channels with a continuation: what recv_on.c and send_on.c share.
#ifndef FIN_CHAN_ON_ROOM_H
#define FIN_CHAN_ON_ROOM_H

#include <fin/chan_on.h>

#include "chan/chan.h"
#include "chan/lmp.h"
#include "chan/wait.h"
#include "core/kept.h"
#include "sync/wait.h"

struct chan_on;

// Of one that peeks, where its wait is ended on this thread.
struct chan_peek {
    // By who sends, closes or cancels, or hears of a message: with that, or why there is none (both with the turn). Makes
    // the AWE run, which is on no list but, perhaps, one with its item.
    void (*peeked)(struct chan_on *on, struct fin_awe *a, ssize_t n);
    // By who sends what it can take as it is (lmp.h), for which nothing has gone through the ring.
    bool (*take)(struct lmp_waiter *w, uint64_t word, const void *data, size_t size);
};

// In the program's struct fin_chan_on.
struct chan_on {
    struct fin_kept kept; // first: the address of this is the state of our continuations
    union {
        struct lmp_waiter lmp; // of one thread
        struct fin_sync_on sync;
        struct fin_on io;
    } wait;
    struct fin_chan *chan;
    union {
        struct fin_waitset *set;
        const struct chan_peek *peek; // NULL: it takes the message
    };
    const void *data;
    union {
        void *buffer;
        const void *bytes; // that are peeked at
    };
    size_t size;
    union {
        size_t room;
        uint64_t word; // that goes before the data
    };
    bool leads;    // in the epoll of the set
    bool receives; // after sending
    bool behind;   // there is a word
    uint8_t turns; // that others have had while it looked
};
_Static_assert(sizeof(struct chan_on) <= sizeof(struct fin_chan_on), "room for a wait");

static inline struct chan_on *chan_on_of(struct fin_chan_on *storage) { return (struct chan_on *)(void *)storage; }

// It is over, or there was nothing to wait for. Returns only where that is refused, which fin_cont_begin has seen before.
static inline int chan_on_end(const struct chan_on *on, ssize_t result) {
    return fin_cont_call(on->kept.cont, on->kept.state, on->kept.size, (int)result);
}

// on.c of I/O: waits until fd is readable, for a message.
int fin_on_readable(struct fin_on *on, int fd, fin_cont *cont, const void *state, size_t size);
// The same, and who finds that it is calls fn, between two AWEs: what is left to do is done there, and fn makes the AWE run.
// Pre: fin_cont_begin.
int fin_on_readable_then(struct fin_on *on, int fd, void (*fn)(void *arg, struct fin_awe *a, int result), void *arg,
                         fin_cont *cont, const void *state, size_t size);

// recv_on.c, send_on.c: pre: the program's continuation is kept, and what it wants. Do not return.
int fin_chan_on_receive(struct chan_on *on, bool looked);
int fin_chan_on_send(struct chan_on *on); // and then receives, where it is to

#endif
