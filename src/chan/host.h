// SPDX-License-Identifier: BSD-2-Clause
// What a thread that ends, and the report of a process that nothing can wake, ask of this room, where it is linked.
#ifndef FIN_CHAN_HOST_H
#define FIN_CHAN_HOST_H

#include <fin/awe.h>

struct fin_chan_wait {
    enum {
        FIN_CHAN_WAIT_NONE,
        FIN_CHAN_WAIT_MESSAGE,
        FIN_CHAN_WAIT_ROOM,
        FIN_CHAN_WAIT_TO_SEND,    // until others at this end have sent
        FIN_CHAN_WAIT_TO_RECEIVE, // likewise
        FIN_CHAN_WAIT_REQUEST,
        FIN_CHAN_WAIT_ANSWER,
        FIN_CHAN_WAIT_SET
    } what;
    const struct fin_chan *end, *other; // other: NULL: it is closed, or in another process
    uint32_t call;                      // whose answer
    unsigned members;                   // of the set
};

// monitor.c: it monitors no waitset any more. Pre: it has no AWEs any more.
__attribute__((weak)) void fin_chan_thread_ends(struct fin_runtime *rt);

// trace.c: does the AWE wait for that? object: of the sync room, that it waits for, or NULL. Pre: all threads of the process
// sleep; nothing else is relied on.
__attribute__((weak)) bool fin_chan_waits(const struct fin_awe *a, const void *object, struct fin_chan_wait *out);

#endif
