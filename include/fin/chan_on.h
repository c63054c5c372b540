// SPDX-License-Identifier: BSD-2-Clause
// Messages that an AWE waits for with a continuation (fin/cont.h): the running AWE gives up its stack, and its continuation
// is called with what the function of the same name without _on would have returned. AWEs that wait with their stacks and
// AWEs that wait without take turns at the same end, of any kind of channel.
//
//     static void received(void *state, int n) {
//         struct session *s = *(struct session **)state;
//         if (n < 0)
//             close_it(s); // ends with fin_cont_end
//         ...
//         fin_chan_recv_on(s->chan, s->buffer, sizeof s->buffer, &s->on, received, &s, sizeof s);
//     }
//
// Between AWEs of one thread the sender knows what the receiver waits with: it puts the message where the receiver wants it,
// and the continuation runs with nothing left to do (continuations 2.1, 3.3: recognition). A sender that goes on to receive,
// as in a call or in a loop that serves calls, uses fin_chan_send_recv_on, which also gives the receiver its stack: then
// neither goes through the queue. A message that comes from another thread or process while the receiver sleeps is put in
// place in the same way, by the receiver's thread when it hears of the message.
//
// The struct fin_chan_on, messages and buffers must stay valid until the continuation runs; so they must not lie in the
// frame of the caller, which is lost. Cancellation is exact, as in fin/chan.h: -ECANCELED means that nothing was sent or
// received.
//
// None of these functions returns, unless it is refused: then it returns a negative errno, one of fin_block_on's, and
// nothing has happened. If there is nothing to wait for, the continuation is called at once.
#ifndef FIN_CHAN_ON_H
#define FIN_CHAN_ON_H

#include <fin/chan.h>
#include <fin/on.h>
#include <fin/sync_on.h>

#ifdef __cplusplus
extern "C" {
#endif

// Storage for a wait; for one at a time. It needs no initialization, and nothing is left in it afterwards.
struct fin_chan_on {
    uint64_t room[48];
};

int fin_chan_recv_on(struct fin_chan *c, void *buffer, size_t size, struct fin_chan_on *on, fin_cont *cont,
                     const void *state, size_t state_size);
int fin_chan_send_on(struct fin_chan *c, const void *data, size_t size, struct fin_chan_on *on, fin_cont *cont,
                     const void *state, size_t state_size);

// fin_chan_send and, if that returned 0, fin_chan_recv, in one wait (the paper's mach_msg): the continuation runs when the
// next message has arrived. -ECANCELED: nothing was received; `data` may have been sent.
int fin_chan_send_recv_on(struct fin_chan *c, const void *data, size_t size, void *buffer, size_t room,
                          struct fin_chan_on *on, fin_cont *cont, const void *state, size_t state_size);

// As fin_chan_accept; *out is set when the continuation runs. While there is no client nothing is held but the AWE. A
// shortage of descriptors is reported at once, and the client, if there is one, stays in line: pause before you accept
// again. A client that has been accepted is not given up because of a cancel.
int fin_chan_accept_on(struct fin_chan_listener *l, struct fin_chan **out, struct fin_chan_on *on, fin_cont *cont,
                       const void *state, size_t size);

// As fin_waitset_dispatch (fin/waitset.h): the AWE waits for an event without a stack and has one while the event's handler
// runs; then the continuation is called. All AWEs that dispatch the same set, in whatever way, stand in one line. The
// handler may block. It must not give up that stack, which is refused with -EBUSY; nor call fin_cont_end or leave a mutex
// locked, which ends the program with a message. In a set that the thread monitors (fin/alert.h) an alert runs this AWE
// before all others.
struct fin_waitset;
FIN_BLOCKING int fin_waitset_dispatch_on(struct fin_waitset *w, struct fin_chan_on *on, fin_cont *cont, const void *state,
                                         size_t size);

// As fin_waitset_next: the next event without its handler; *arg is set when the continuation runs. No other AWE of the
// thread runs before that, except those that had to wait for lack of memory for a stack. So the continuation can take the
// message with a call that does not wait (fin_chan_try_recv).
int fin_waitset_next_on(struct fin_waitset *w, void **arg, struct fin_chan_on *on, fin_cont *cont, const void *state,
                        size_t size);

#ifdef __cplusplus
}
#endif
#endif
