// SPDX-License-Identifier: BSD-2-Clause
// Calls over channels (ac-extensions 5.3, 5.4): requests and answers, each with the id of its request, in both directions of
// one channel. Both sides may call and serve at once. Answers may come in any order, even before anybody waits for them.
//
// An AWE that waits for an answer or a request also reads what comes for others, and hands it to them; when its own has
// come, another AWE reads on. A request stays in the channel until it is taken, and so do all that was sent after it and the
// news that the other end is closed. So on a side to which requests may come, somebody has to take them (fin_rpc_serve in an
// async of its own, or fin_rpc_poll now and then). A side to which no requests may come says so with FIN_RPC_CLIENT.
// An AWE that waits for room takes the answers that have come, so that a server that waits for room for those goes on; and
// if the other side waits for room, too, and does not find any, requests, which it keeps in memory: not more than
// FIN_RPC_MOST, and 16 MiB. So two ends that call each other do not wait for each other for ever, also where each works on
// one request at a time; not so if one of them is shared. Where there is no memory for that, who waits for room gets
// -ENOMEM; or, if another AWE reads meanwhile, every call of the end from then on.
//
// An id names a call of this end, from fin_rpc_send until its answer has been received, or has come when nobody wanted it
// any more. It is not used again before that, nor before 65,000 other calls. So a late or second answer, or one to an id
// that never existed, reaches no other call: it is dropped, and counted by fin_rpc_strays. (A second one that comes so many
// calls later may reach one.) Anything else that the other side gets wrong is -EPROTO.
//
// An end belongs to one thread, whose AWEs may be in any of the calls; if the channel was opened as FIN_CHAN_SHARED, any
// thread may reply. A cancelled wait returns -ECANCELED; functions whose names end in _nc are not cancelled. In a block that
// is cancelled already, a cancellable call returns -ECANCELED at once. Sizes are in bytes.
#ifndef FIN_RPC_H
#define FIN_RPC_H

#include <fin/chan.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FIN_RPC_LINE = FIN_CHAN_LINE - 8, // bytes: a message up to this size fits into one line, and is fastest
    FIN_RPC_MOST = 16384,             // calls at a time, including those given up whose answers have not come
};

enum { FIN_RPC_CLIENT = 1 }; // this end only calls: a request is a violation (-EPROTO)

struct fin_rpc;

// Makes an end for calls out of an end of a channel, which nobody else may use any more. Does not block. Returns 0; -EINVAL
// (flags), -ENOMEM; -EBUSY if it is one already, is in a waitset, or an AWE is in a call of fin/chan.h on it, or between
// fin_chan_peek and fin_chan_release or fin_chan_reserve and fin_chan_commit.
int fin_rpc_open(struct fin_rpc **out, struct fin_chan *c, unsigned flags);

// Closes the end and its channel. Returns 0; -EBUSY if an AWE is in one of the calls. Does not block.
int fin_rpc_close(struct fin_rpc *r);

// The longest request or answer. Does not block.
size_t fin_rpc_most(const struct fin_rpc *r);

// Sends a request and receives its answer, whose length is returned. -EMSGSIZE if the request is longer than fin_rpc_most,
// or if the answer is longer than `room`, and then the answer is lost; -ENOSPC if FIN_RPC_MOST calls wait; -ENOMEM; -EPIPE,
// -ESHUTDOWN, -ECONNRESET and -EPROTO as fin_chan_send and fin_chan_recv. After -ECANCELED, or a shortage as of
// fin_chan_recv, the request may have been sent; its answer is dropped when it comes. Between AWEs of one thread an AWE that
// waits for the request may run at once, before others that can run.
FIN_BLOCKING ssize_t fin_rpc_call(struct fin_rpc *r, const void *request, size_t size, void *answer, size_t room);
FIN_BLOCKING ssize_t fin_rpc_call_nc(struct fin_rpc *r, const void *request, size_t size, void *answer, size_t room);

// The two halves of that. After -ECANCELED nothing was sent or received: the answer to `id` can still be waited for. After
// -EMSGSIZE it can, too, with more room. -ESRCH: there is no such call, or it has had its answer; -EBUSY: somebody waits for
// it.
FIN_BLOCKING int fin_rpc_send(struct fin_rpc *r, const void *request, size_t size, uint32_t *id);
FIN_BLOCKING int fin_rpc_send_nc(struct fin_rpc *r, const void *request, size_t size, uint32_t *id);
FIN_BLOCKING ssize_t fin_rpc_recv(struct fin_rpc *r, uint32_t id, void *answer, size_t room);
FIN_BLOCKING ssize_t fin_rpc_recv_nc(struct fin_rpc *r, uint32_t id, void *answer, size_t room);

// Gives a call up: nobody wants its answer any more. Returns 0; -ESRCH, -EBUSY as above. Does not block.
int fin_rpc_forget(struct fin_rpc *r, uint32_t id);

// Receives the next request: its length, and its id for the reply; waits for one. -EMSGSIZE if it is longer than `room`: the
// request stays.
FIN_BLOCKING ssize_t fin_rpc_accept(struct fin_rpc *r, void *request, size_t room, uint32_t *id);
FIN_BLOCKING ssize_t fin_rpc_accept_nc(struct fin_rpc *r, void *request, size_t room, uint32_t *id);

// The same without waiting for one: -EAGAIN if there is none. Answers that have come are given to their AWEs. If another AWE
// is in the middle of reading, fin_rpc_poll first yields to let it go on. Not cancelled.
FIN_BLOCKING ssize_t fin_rpc_poll(struct fin_rpc *r, void *request, size_t room, uint32_t *id);

// fin_rpc_poll for several ends: takes a request from the first one that has any, beginning with the end after number
// *which, and sets *which to its number. If none has a request, an end from which nothing more can come is reported, with
// its error.
FIN_BLOCKING ssize_t fin_rpc_poll_group(struct fin_rpc *const *group, unsigned count, unsigned *which, void *request,
                                        size_t room, uint32_t *id);

// Answers a request. Returns 0, or an error of fin_chan_send.
FIN_BLOCKING int fin_rpc_reply(struct fin_rpc *r, uint32_t id, const void *answer, size_t size);
FIN_BLOCKING int fin_rpc_reply_nc(struct fin_rpc *r, uint32_t id, const void *answer, size_t size);

// fin_rpc_reply to request *id, and then fin_rpc_accept: how a server that works on one request at a time goes on, as Mach's
// do (continuations 3.3). Between AWEs of one thread the caller, if it waits for this answer, may run at once, before others
// that can run. *id is 0 once the answer has been sent: an error before that is of the reply, which can be tried again; one
// after that is of the wait for the next request. The answer and the next request may be in the same memory.
FIN_BLOCKING ssize_t fin_rpc_reply_accept(struct fin_rpc *r, const void *answer, size_t size, void *request, size_t room,
                                          uint32_t *id);
FIN_BLOCKING ssize_t fin_rpc_reply_accept_nc(struct fin_rpc *r, const void *answer, size_t size, void *request, size_t room,
                                             uint32_t *id);

// Works on a request, and replies to it: before it returns, or at any later time. The memory of the request is its own until
// it returns. Its AWE may end in it (THCFinish), which counts as its return. No C++ exception may leave it.
typedef void fin_rpc_fn(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *arg);

// The dispatch loop (ac-extensions 5.3): calls fn for each request, in an async of its own. It goes on until the other side
// is gone (-ESHUTDOWN, -ECONNRESET) or breaks the protocol (-EPROTO), memory is short (-ENOMEM; the request stays) or what
// the thread waits with (as fin_chan_recv), or it is cancelled (-ECANCELED; a request that it had not begun by then stays).
// It returns that error once every fn has returned; a cancel reaches those, too. Until then it takes no more requests: one
// that comes holds up the answers behind it, and an fn that waits for such an answer and is not cancelled waits until
// somebody else takes the request. Each loop works on at most FIN_RPC_MOST requests at a time; more, which only a side that
// breaks the rules sends, wait in the channel. To serve a group of ends, serve each in an async.
FIN_BLOCKING int fin_rpc_serve(struct fin_rpc *r, fin_rpc_fn *fn, void *arg);

// How many answers have come so far that nobody waited for: late, a second time, or to no call at all.
uint64_t fin_rpc_strays(const struct fin_rpc *r);

#ifdef __cplusplus
}
#endif
#endif
