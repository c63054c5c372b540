// SPDX-License-Identifier: BSD-2-Clause
// Waits for channels with a continuation: what recv_on.c and send_on.c share.
#ifndef FIN_CHAN_ON_ROOM_H
#define FIN_CHAN_ON_ROOM_H

#include <fin/chan_on.h>

#include "chan/chan.h"
#include "chan/lmp.h"
#include "chan/wait.h"
#include "sync/wait.h"

// In the program's struct fin_chan_on. Where more than one wait may be needed, those have continuations of ours, whose state
// is the address of this, and the program's continuation is kept here meanwhile.
struct chan_on {
    union {
        struct lmp_waiter lmp; // of one thread
        struct fin_sync_on sync;
        struct fin_on io;
    } wait;
    struct fin_chan *chan;
    struct fin_waitset *set; // or that
    bool leads;              // in its epoll
    const void *data;
    void *buffer;
    size_t size, room;
    bool receives; // after sending
    char byte;     // from the socket
    uint32_t state_size;
    fin_cont *cont;
    char state[FIN_CONT_STATE] __attribute__((aligned(8)));
};
_Static_assert(sizeof(struct chan_on) <= sizeof(struct fin_chan_on), "room for a wait");

static inline struct chan_on *chan_on_of(struct fin_chan_on *storage) { return (struct chan_on *)(void *)storage; }

static inline void chan_on_keep(struct chan_on *on, fin_cont *cont, const void *state, size_t size) {
    on->cont = cont;
    on->state_size = (uint32_t)size;
    if (size > 0)
        memcpy(on->state, state, size);
}

// It is over, or there was nothing to wait for. Returns only where that is refused, which fin_cont_begin has seen before.
static inline int chan_on_end(const struct chan_on *on, ssize_t result) {
    return fin_cont_call(FIN_FOR_MESSAGE, on->cont, on->state, on->state_size, (int)result);
}

// on.c of I/O: waits until fd is readable, for a message.
int fin_on_readable(struct fin_on *on, int fd, fin_cont *cont, const void *state, size_t size);

// recv_on.c, send_on.c: pre: the program's continuation is kept, and what it wants. Do not return.
int fin_chan_on_receive(struct chan_on *on);
int fin_chan_on_send(struct chan_on *on); // and then receives, where it is to

#endif
