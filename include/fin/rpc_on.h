// SPDX-License-Identifier: BSD-2-Clause
// <fin/rpc.h>, waited for with a continuation (fin/cont.h): the running AWE gives up its stack, and its continuation is
// called with what the function of the same name without _on would have returned. AWEs that wait with their stacks and AWEs
// that wait without may wait at the same end.
//
//     static void answered(void *state, int n) {
//         struct client *c = *(struct client **)state;
//         if (n != sizeof c->answer)
//             give_up(c); // ends with fin_cont_end
//         ...
//         fin_rpc_call_on(c->server, &c->request, sizeof c->request, &c->answer, sizeof c->answer, &c->on, answered, &c,
//                         sizeof c);
//     }
//
// Between AWEs of one thread the sender knows what the other AWE waits with: it puts an answer, or a request that is
// accepted, where that AWE wants it, and the continuation runs with nothing left to do (continuations 2.1, 3.3:
// recognition). What another thread or process has sent is put in place in the same way, by the thread that hears of it.
//
// The struct fin_rpc_on, requests and answers must stay valid until the continuation runs; so they must not lie in the frame
// of the caller, which is lost. Cancellation is exact, as in fin/rpc.h.
//
// None of these functions returns, unless it is refused: then it returns a negative errno, one of fin_block_on's, and
// nothing has happened. If there is nothing to wait for, the continuation is called at once.
#ifndef FIN_RPC_ON_H
#define FIN_RPC_ON_H

#include <fin/chan_on.h>
#include <fin/rpc.h>

#ifdef __cplusplus
extern "C" {
#endif

// Storage for a wait; for one at a time. It needs no initialization, and nothing is left in it afterwards.
struct fin_rpc_on {
    uint64_t room[80];
};

// As fin_rpc_call. After -ECANCELED the request may have been sent; its answer is dropped when it comes.
int fin_rpc_call_on(struct fin_rpc *r, const void *request, size_t size, void *answer, size_t room, struct fin_rpc_on *on,
                    fin_cont *cont, const void *state, size_t state_size);

// As fin_rpc_recv: receives the answer to a call that fin_rpc_send began. After -ECANCELED it can still be waited for.
int fin_rpc_recv_on(struct fin_rpc *r, uint32_t id, void *answer, size_t room, struct fin_rpc_on *on, fin_cont *cont,
                    const void *state, size_t state_size);

// As fin_rpc_accept.
int fin_rpc_accept_on(struct fin_rpc *r, void *request, size_t room, uint32_t *id, struct fin_rpc_on *on, fin_cont *cont,
                      const void *state, size_t state_size);

// As fin_rpc_serve: the dispatch loop, which has no stack while there is no request. Each fn has a stack, and an AWE of its
// own in the same finish block. It may block, but not give up that stack: that is refused with -EBUSY, because fn is to
// return. An fn that has to wait for long starts an AWE that waits without a stack (fin_async_cont_beside, with the
// request's id and what is needed of the request in an object of its own) and returns; that AWE replies. The continuation is
// called once every fn has returned.
int fin_rpc_serve_on(struct fin_rpc *r, fin_rpc_fn *fn, void *arg, struct fin_rpc_on *on, fin_cont *cont, const void *state,
                     size_t state_size);

#ifdef __cplusplus
}
#endif
#endif
