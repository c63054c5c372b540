// SPDX-License-Identifier: BSD-2-Clause
// <fin/sync.h>, waited for with a continuation (fin/cont.h): the running AWE gives up its stack, and its continuation is
// called with what the function of the same name without _on would have returned. AWEs that wait with their stacks and AWEs
// that wait without stand in one line, first come first served, within and across OS threads.
//
//     static void locked(void *state, int result) {
//         struct account *a = *(struct account **)state;
//         if (result == 0) {
//             a->balance++;
//             fin_mutex_unlock(&a->lock);
//         }
//         fin_cont_end();
//     }
//     ...
//     fin_mutex_lock_on(&a->lock, &a->wait, locked, &a, sizeof a);
//
// A mutex locked in this way belongs to the AWE, not to its frames: it may be kept while the AWE waits with continuations
// again.
//
// The struct fin_sync_on must stay valid until the continuation runs; so it must not lie in the frame of the caller, which
// is lost. Cancellation is exact, as in fin/sync.h: -ECANCELED means that nothing was acquired, 0 that it was. Functions
// whose names end in _nc are not cancelled.
//
// None of these functions returns, unless it is refused: then it returns a negative errno, one of fin_block_on's, and
// nothing has happened. If there is nothing to wait for, the continuation is called at once. As with fin_block_on, the
// calling AWE must be inside an async body; any thread may wake it.
#ifndef FIN_SYNC_ON_H
#define FIN_SYNC_ON_H

#include <fin/cont.h>
#include <fin/sync.h>
#include <fin/thread.h>

#ifdef __cplusplus
extern "C" {
#endif

// Storage for a wait, 80 bytes; for one at a time. It needs no initialization, and nothing is left in it afterwards.
struct fin_sync_on {
    uint64_t room[10];
};

int fin_mutex_lock_on(struct fin_mutex *m, struct fin_sync_on *on, fin_cont *cont, const void *state, size_t size);
int fin_mutex_lock_on_nc(struct fin_mutex *m, struct fin_sync_on *on, fin_cont *cont, const void *state, size_t size);

// Pre: the mutex is held. It is held again when the continuation runs, whatever the result; from then on it belongs to the
// AWE.
int fin_cond_wait_on(struct fin_cond *c, struct fin_mutex *m, struct fin_sync_on *on, fin_cont *cont, const void *state,
                     size_t size);
int fin_cond_wait_on_nc(struct fin_cond *c, struct fin_mutex *m, struct fin_sync_on *on, fin_cont *cont, const void *state,
                        size_t size);

// As fin_sem_wait.
int fin_sem_wait_on(struct fin_sem *s, struct fin_sync_on *on, fin_cont *cont, const void *state, size_t size);
int fin_sem_wait_on_nc(struct fin_sem *s, struct fin_sync_on *on, fin_cont *cont, const void *state, size_t size);

// As fin_event_await.
int fin_event_await_on(struct fin_event *e, uint64_t count, struct fin_sync_on *on, fin_cont *cont, const void *state,
                       size_t size);
int fin_event_await_on_nc(struct fin_event *e, uint64_t count, struct fin_sync_on *on, fin_cont *cont, const void *state,
                          size_t size);

// The entry must have been entered; it is still in the queue when the continuation runs.
int fin_queue_await_turn_on(struct fin_queue *q, struct fin_queue_entry *e, struct fin_sync_on *on, fin_cont *cont,
                            const void *state, size_t size);
int fin_queue_await_turn_on_nc(struct fin_queue *q, struct fin_queue_entry *e, struct fin_sync_on *on, fin_cont *cont,
                               const void *state, size_t size);

// Waits until the thread has ended: with the result 0 the continuation has to call fin_thread_join, which then does not
// wait.
int fin_thread_ended_on(struct fin_thread_handle *h, struct fin_sync_on *on, fin_cont *cont, const void *state, size_t size);

#ifdef __cplusplus
}
#endif
#endif
