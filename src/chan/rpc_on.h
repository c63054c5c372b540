// SPDX-License-Identifier: BSD-2-Clause
// Calls and requests waited for with a continuation: rpc_on.c has the waits, serve_on.c the requests that are worked on.
#ifndef FIN_CHAN_RPC_ON_ROOM_H
#define FIN_CHAN_RPC_ON_ROOM_H

#include <fin/rpc_on.h>

#include "chan/on.h"
#include "chan/rpc.h"

// In the program's struct fin_rpc_on.
struct rpc_on {
    struct fin_kept kept; // first: the address of this is the state of our continuations
    struct fin_rpc *rpc;
    struct waiting w; // its id: of the call, or 0
    struct fin_cancel_item item;
    enum rpc_what { CALL, RECV, ACCEPT, SERVE } what;
    int error;             // who serves: why no more requests come
    uint32_t *id;          // of the request, for who accepts
    fin_rpc_fn *fn;        // who serves
    void *arg;
    struct fin_finish_block *block;
    struct fin_awe *waits; // for one that is worked on to end
    unsigned running;      // that are
    struct chan_on chan;   // reads or sends
};
_Static_assert(sizeof(struct rpc_on) <= sizeof(struct fin_rpc_on), "room for a wait");

static inline int finish(struct rpc_on *on, ssize_t n) {
    return fin_cont_call(on->kept.cont, on->kept.state, on->kept.size, (int)n);
}

static inline struct rpc_on *begin(struct fin_rpc_on *storage, struct fin_rpc *r, const struct waiting *w, fin_cont *cont,
                            const void *state, size_t size) {
    struct rpc_on *on = (struct rpc_on *)(void *)storage;
    fin_keep(&on->kept, cont, state, size);
    on->rpc = r;
    on->w = *w;
    on->w.on = on;
    return on;
}

// rpc_on.c: waits for what it is to wait for, and goes on with the program's continuation. Pre: it is on the list.
int fin_rpc_on_go(struct rpc_on *on, int error);

// serve_on.c
// In the AWE that sends it. After the last one that there is room for who serves has to be woken.
bool fin_rpc_serve_at_once(struct rpc_on *on, uint64_t word, const void *data, size_t size);
// By who hears that it has come, of an AWE that serves and waits: the request at the head is taken. False: it is for the AWE
// to look at.
bool fin_rpc_serve_known(struct rpc_on *on);
// What fin_rpc_on_go found: 0 for a request at the head, or why there will be none. 1: it is to wait for the next one.
int fin_rpc_serve_next(struct rpc_on *on, ssize_t n, unsigned turn);

#endif
