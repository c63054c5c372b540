// SPDX-License-Identifier: BSD-2-Clause
// Explicit continuations: an AWE that waits with a function and up to 40 bytes of state, and without a stack (continuations
// 2, 3.1). Blocked it takes 120 bytes. Its continuation runs on a stack that it gets for that time: the one that the AWE
// before it gives up, where that one blocks the same way (stack handoff).
//
//     static void serve(void *state, int result) {           // runs whenever somebody schedules the AWE
//         struct connection *c = *(struct connection **)state;
//         if (result < 0 || !handle_request(c))
//             fin_cont_end();
//         fin_block_on(serve, &c, sizeof c);                  // does not return
//     }
//
// A continuation never returns: it ends with fin_block_on, fin_cont_end or the like. In between it is ordinary code: it may
// open finish blocks, start asyncs, and block as any function does; then it keeps its stack for that time.
//
// What looks as if it does not return does so where it is refused, as execve does, with a negative errno: -EINVAL outside
// any async body, or without a continuation; -E2BIG for more state than there is room for; -EBUSY where the frames that
// would be lost still own something: a finish block begun in this body, a fin_mutex that they locked, a fin_cancel_item in
// one of them that they added, an entry of a fin_queue in one that they entered, or a C++ exception in flight; -ENOMEM.
// Then nothing has happened. (A mutex to keep is locked with fin_mutex_lock_on, see fin/sync_on.h. One that an AWE leaves
// locked at its end, for another to unlock, may count as locked by a later AWE of the thread until then. What is not Fin's
// nobody knows of: a pthread_mutex_t, memory, a file.)
//
// All of it concerns the calling thread and does not wait for anything else, unless it says so.
#ifndef FIN_CONT_H
#define FIN_CONT_H

#include <fin/async.h>

#ifdef __cplusplus
extern "C" {
#endif

// `state` is the AWE's copy, aligned for any word; it stays until the AWE blocks again, which may be on the same place.
// `result` is 0, or -ECANCELED where the AWE was cancelled while it waited; or what woke it says.
typedef void fin_cont(void *state, int result);

enum { FIN_CONT_STATE = 40 }; // bytes of state at most

// fin_async_cont(cont, state, size): an async whose body is a continuation; it runs when its turn in the queue has come,
// with the result 0. The enclosing finish block waits until that AWE has ended. The value is the AWE, a valid pointer until
// it ends; NULL where there is no memory, or `size` is too large. A compile error outside a finish block, and
// with FIN_ELIDE: it has no sequential form.
#define fin_async_cont(cont, state, size) fin_cont_start_(FIN_CONT_BLOCK_, cont, state, size)

// The same from a continuation: in the finish block of the running AWE, beside it, as an async of its body would be. (An
// accept loop without a stack starts its connections so.) NULL also where the running AWE is not explicit.
struct fin_awe *fin_async_cont_beside(fin_cont *cont, const void *state, size_t size);

// The running AWE waits with this continuation (the paper's thread_block); its stack is given up. From then on it can be
// resumed with fin_schedule by who knows it: an AWE that already is explicit is what fin_awe_self says, before and after.
// Inside any async body: one that had a stack becomes explicit. Where the block has been cancelled, the continuation runs
// soon, with -ECANCELED; so it does when it is cancelled later (ac 2.2).
int fin_block_on(fin_cont *cont, const void *state, size_t size);
int fin_block_on_nc(fin_cont *cont, const void *state, size_t size); // not cancelled

// The same; then(awe, arg) runs when the AWE can be resumed, from any thread: where it is made known to others, for example.
// `then` must not block; `awe` may be gone when it returns.
int fin_block_on_then(fin_cont *cont, const void *state, size_t size, void (*then)(struct fin_awe *awe, void *arg),
                      void *arg);

// The running AWE goes to the tail of the queue, with this continuation. fin_yield without a stack.
int fin_yield_on(fin_cont *cont, const void *state, size_t size);

// Ends the running AWE, which must be explicit, without an open finish block, and not in a C++ catch clause: anything else
// ends the program with a message.
void fin_cont_end(void) __attribute__((noreturn));

// The running AWE, where it is explicit: NULL otherwise. It has this address from its start to its end.
struct fin_awe *fin_awe_self(void);

// The continuation that an AWE waits with, or was started or continued with last; NULL where it is not explicit. It is the
// program's also where a function of the library waits several times, with continuations of its own. Where that
// is one that the caller knows, the work that it would do may be done here instead (continuation recognition, 2.1).
fin_cont *fin_cont_of(const struct fin_awe *a);
// Its state, to be read and changed while it waits.
void *fin_cont_state(struct fin_awe *a);

// Hands the stack to `to`, an explicit AWE of this thread that waits (the paper's thread_handoff): the running AWE waits
// with `cont`, and the function returns 0 running as `to`, whose continuation has not been called. Then the caller does that
// one's work, or calls fin_call_continuation. -EINVAL where `to` does not wait or is not explicit, waits for an operation or
// an object (fin/on.h, fin/sync_on.h), or is about to run with a result of such a wait that is not 0: nobody else would hear
// of it. -EBUSY also where the running AWE's stack is its owner's: a body that has not blocked yet.
int fin_thread_handoff(fin_cont *cont, const void *state, size_t size, struct fin_awe *to);

// As above where the continuation of `to` is `known`: then it is counted as recognized. 0; -ESRCH where it is another.
int fin_thread_handoff_if(fin_cont *known, fin_cont *cont, const void *state, size_t size, struct fin_awe *to);

// ---- The parts that the two above and a block are made of (the paper's figures 4 and 5), for a scheduler or a server that
// does these in its own way: docs/cont.md has thread_handoff and thread_block built of them.

// A stack of the calling thread that nobody runs on; it lasts as long as the thread. Whatever runs next on it, it is the
// thread's own again when that has left it.
struct fin_stack;
struct fin_stack *fin_stack_alloc(void);     // NULL where there is no memory
int fin_stack_free(struct fin_stack *stack); // 0; -EINVAL where it is none that the program holds

// Gives a stack to an explicit AWE of this thread that waits: it begins there when it is resumed, which needs no memory
// then. `first` runs in place of its continuation, with its state and its result, and may call that:
// fin_call_continuation(fin_cont_of(fin_awe_self()), result). NULL: its continuation runs. Until then the AWE is as before:
// it may be scheduled by any thread, cancelled, and looked at. 0; -EINVAL where `a` is no such AWE or waits for an operation
// or an object, or the program does not hold the stack; -EBUSY where the AWE has one.
int fin_stack_attach(struct fin_awe *a, struct fin_stack *stack, fin_cont *first);

// Takes it back, before the AWE has begun there. NULL where it has none.
struct fin_stack *fin_stack_detach(struct fin_awe *a);

// fin_thread_handoff without a continuation: the running AWE waits, the function returns 0 running as `to`, and nobody can
// make the one before run until fin_cont_set has said with what it waits. Errors as above; -EINVAL also where a stack is
// attached to `to`.
int fin_stack_handoff(struct fin_awe *to);

// Another continuation, and state, for an explicit AWE of this thread that waits: what it does next is decided by who looks
// after it (the paper's section 5: upcalls by a pool of AWEs with a default continuation). 0; -E2BIG; -EINVAL as for
// fin_stack_attach; -EALREADY where it has been scheduled.
int fin_cont_set(struct fin_awe *a, fin_cont *cont, const void *state, size_t size);

// Calls a continuation for the running AWE, which must be explicit, at the base of its stack: however long a chain of them,
// the stack does not grow. The state is the AWE's: fin_cont_state(fin_awe_self()). It returns where it is refused: -EINVAL
// for NULL, or outside an explicit AWE; -EBUSY as fin_block_on, and while an async begun inside this step has not ended.
int fin_call_continuation(fin_cont *cont, int result);

// Runs `to`, an AWE of this thread that waits, next (the paper's switch_context). With a continuation the running AWE waits
// with that and gives up its stack; without one (NULL) it waits with its stack, in *slot, and the function returns 0 when
// somebody resumes it. A negative errno where `to` cannot be run.
static inline int FIN_BLOCKING fin_switch_context(fin_cont *cont, const void *state, size_t size, struct fin_awe **slot,
                                                  struct fin_awe *to);

struct fin_awe *fin_cont_start_(struct fin_finish_block *block, fin_cont *cont, const void *state, size_t size);
int fin_cont_next_(struct fin_awe *to);
int fin_cont_continue_(fin_cont *cont, const void *state, size_t size, int result); // when its turn has come
int fin_cont_switch_(fin_cont *cont, const void *state, size_t size, struct fin_awe *to);

static inline int fin_switch_context(fin_cont *cont, const void *state, size_t size, struct fin_awe **slot,
                                     struct fin_awe *to) {
    if (cont)
        return fin_cont_switch_(cont, state, size, to);
    int error = fin_cont_next_(to);
    if (error == 0)
        fin_suspend(slot);
    return error;
}

#ifdef __cplusplus
}
#endif

#if defined(FIN_ELIDE)
#define FIN_CONT_BLOCK_ fin_async_cont_has_no_sequential_form
#elif defined(__cplusplus)
#define FIN_CONT_BLOCK_ (fin_cancel_must_be_inside_fin_finish.raw())
#else
#define FIN_CONT_BLOCK_ ((struct fin_finish_block *)fin_cancel_must_be_inside_fin_finish)
#endif
#endif
