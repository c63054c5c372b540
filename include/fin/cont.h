// SPDX-License-Identifier: BSD-2-Clause
// Explicit continuations: an AWE that waits with a function and up to 40 bytes of state, and without a stack (continuations
// 2, 3.1). While blocked it takes 120 bytes. Its continuation runs on a stack that it gets for that time: the one that the
// AWE before it gives up, if that AWE blocks in the same way (stack handoff).
//
//     static void serve(void *state, int result) {           // runs whenever somebody schedules the AWE
//         struct connection *c = *(struct connection **)state;
//         if (result < 0 || !handle_request(c))
//             fin_cont_end();
//         fin_block_on(serve, &c, sizeof c);                  // does not return
//     }
//
// A continuation never returns: it ends with fin_block_on, fin_cont_end or the like. Until then it is ordinary code: it may
// open finish blocks, start asyncs, and block as any function does; it keeps its stack while it blocks in that way.
//
// Functions that do not return on success return a negative errno when they are refused, as execve does; then nothing has
// happened. -EINVAL outside any async body, or without a continuation; -E2BIG for more state than there is room for;
// -ENOMEM; -EBUSY if the frames that would be lost still own something: a finish block begun in this body, a fin_mutex that
// they locked, a fin_cancel_item that lies in one of them and that they added, an entry of a fin_queue that lies in one of
// them and that they entered, or a C++ exception in flight; or if a function of the library's is among them, which has
// called the program back: a handler of a waitset, the function that serves a request. (To keep a mutex, lock it with
// fin_mutex_lock_on, see fin/sync_on.h. A mutex that an AWE leaves locked at its end, for another to unlock, may count as
// locked by a later AWE of the thread until it is unlocked. Fin does not know of what is not its own: a pthread_mutex_t,
// memory, a file.)
//
// All functions here concern the calling thread and wait for nothing else, unless their comments say so.
#ifndef FIN_CONT_H
#define FIN_CONT_H

#include <fin/async.h>

#ifdef __cplusplus
extern "C" {
#endif

// `state` is the AWE's copy, aligned for any word. It stays until the AWE blocks again, possibly with a new state in the
// same place. `result` is 0, or -ECANCELED if the AWE was cancelled while it waited; or whatever result the operation that
// woke it gives. A C++ exception that leaves it ends the program, by std::terminate (fin/cont.hpp has steps that may throw).
typedef void fin_cont(void *state, int result);

enum { FIN_CONT_STATE = 40 }; // bytes of state at most

// fin_async_cont(cont, state, size): an async whose body is a continuation; it runs when its turn in the queue has come,
// with the result 0. The enclosing finish block waits until that AWE has ended. The value is the AWE, a valid pointer until
// the AWE ends; NULL if there is no memory, `cont` is NULL, or `size` is too large. A compile error outside a finish block,
// and with FIN_ELIDE: it has no sequential form.
#define fin_async_cont(cont, state, size) fin_cont_start_(FIN_CONT_BLOCK_, cont, state, size)

// The same in a finish block that the caller knows, as fin_async_in of <fin/async.h>. C only; C++ has the fin::scope.
#define fin_async_cont_in(block, cont, state, size) fin_cont_start_(FIN_CONT_IN_(block), cont, state, size)

// The same from a continuation: the new AWE is in the finish block of the running AWE, beside it, as an async directly
// inside its body would be. (This is how an accept loop without a stack starts its connections.) NULL also if the running
// AWE is not explicit.
struct fin_awe *fin_async_cont_beside(fin_cont *cont, const void *state, size_t size);

// The running AWE gives up its stack and waits with this continuation (the paper's thread_block). From then on whoever knows
// the AWE can resume it with fin_schedule; an AWE that is explicit already is the one that fin_awe_self returns, before the
// wait and after it. May be called inside any async body: an AWE that had a stack becomes explicit. If the block has been
// cancelled, the continuation runs soon, with -ECANCELED; likewise if the block is cancelled later (ac 2.2).
int fin_block_on(fin_cont *cont, const void *state, size_t size);
int fin_block_on_nc(fin_cont *cont, const void *state, size_t size); // not cancelled

// The same; then(awe, arg) runs as soon as the AWE can be resumed from any thread: the place to make it known to others, for
// example. `then` must not block nor throw; `awe` may no longer exist when it returns.
int fin_block_on_then(fin_cont *cont, const void *state, size_t size, void (*then)(struct fin_awe *awe, void *arg),
                      void *arg);

// The running AWE goes to the tail of the queue and waits there with this continuation: fin_yield without a stack.
int fin_yield_on(fin_cont *cont, const void *state, size_t size);

// Ends the running AWE. It must be explicit, have no open finish block, and not be in a C++ catch clause: otherwise the
// program ends with a message.
void fin_cont_end(void) __attribute__((noreturn));

// The running AWE if it is explicit, otherwise NULL. An AWE has this address from its start to its end.
struct fin_awe *fin_awe_self(void);

// The continuation that an AWE waits with, or was last started or continued with; NULL if the AWE is not explicit. It is
// the program's continuation even while a function of the library waits several times with continuations of its own
// (fin/tls.h names an exception). Of an AWE that works on a request (fin/rpc_on.h) it is the fin_rpc_fn, to be shown and
// compared: it cannot be called as a continuation.
// If the caller knows that continuation, it may do its work here instead of it (continuation recognition, 2.1).
fin_cont *fin_cont_of(const struct fin_awe *a);
// Its state, to be read and changed while it waits.
void *fin_cont_state(struct fin_awe *a);

// Hands the stack to `to`, an explicit AWE of this thread that waits (the paper's thread_handoff): the running AWE waits
// with `cont`, and the function returns 0 running as `to`, whose continuation has not been called. Then the caller does the
// work of `to` itself, or calls fin_call_continuation. -EINVAL if `to` does not wait or is not explicit, if it waits for an
// operation or an object (fin/on.h, fin/sync_on.h), or if it is about to run with a result of such a wait that is not 0,
// which would be lost. -EBUSY also if the running AWE still runs on its owner's stack: a body that has not blocked yet.
int fin_thread_handoff(fin_cont *cont, const void *state, size_t size, struct fin_awe *to);

// As above, but only if the continuation of `to` is `known`; it is then counted as recognized. 0; -ESRCH if it is another.
int fin_thread_handoff_if(fin_cont *known, fin_cont *cont, const void *state, size_t size, struct fin_awe *to);

// ---- The parts that make up the two functions above and a block (the paper's figures 4 and 5), for a scheduler or a server
// that does these in its own way: docs/cont.md shows thread_handoff and thread_block built from them.

// A stack of the calling thread on which nothing runs; it lasts as long as the thread. Once something has run on it and left
// it, it belongs to the thread again.
struct fin_stack;
struct fin_stack *fin_stack_alloc(void);     // NULL where there is no memory
int fin_stack_free(struct fin_stack *stack); // 0; -EINVAL if it is not a stack that the program holds

// Gives a stack to an explicit AWE of this thread that waits: when the AWE is resumed it begins on this stack, and needs no
// memory for one. `first` runs in place of its continuation, with its state and its result, and may call that continuation:
// fin_call_continuation(fin_cont_of(fin_awe_self()), result). If `first` is NULL, the continuation runs. Until it is resumed
// the AWE is as before: it may be scheduled by any thread, cancelled, and looked at. 0; -EINVAL if `a` is no such AWE or
// waits for an operation or an object, or if the program does not hold the stack; -EBUSY if the AWE has one already.
int fin_stack_attach(struct fin_awe *a, struct fin_stack *stack, fin_cont *first);

// Takes that stack back before the AWE has begun on it. NULL if the AWE has none.
struct fin_stack *fin_stack_detach(struct fin_awe *a);

// fin_thread_handoff without a continuation: the running AWE waits, the function returns 0 running as `to`, and nobody can
// resume the AWE that waits until fin_cont_set has given it a continuation. Errors as of fin_thread_handoff; -EINVAL also if
// a stack is attached to `to`.
int fin_stack_handoff(struct fin_awe *to);

// Gives an explicit AWE of this thread that waits another continuation and state: whoever manages the AWE decides what it
// does next (the paper's section 5: upcalls by a pool of AWEs with a default continuation). 0; -E2BIG; -EINVAL as for
// fin_stack_attach; -EALREADY if the AWE has been scheduled.
int fin_cont_set(struct fin_awe *a, fin_cont *cont, const void *state, size_t size);

// Calls a continuation for the running AWE, which must be explicit, at the base of its stack: the stack does not grow,
// however long a chain of such calls is. The state is the AWE's: fin_cont_state(fin_awe_self()). Returns only if it is
// refused: -EINVAL for NULL, or outside an explicit AWE; -EBUSY as fin_block_on, and while an async begun inside this step
// has not ended.
int fin_call_continuation(fin_cont *cont, int result);

// Runs `to`, an AWE of this thread that waits, next (the paper's switch_context). With a continuation, the running AWE gives
// up its stack and waits with that continuation. Without one (NULL) it keeps its stack and waits in *slot, and the function
// returns 0 when somebody resumes it. A negative errno if `to` cannot be run.
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
#define FIN_CONT_IN_(block) fin_async_cont_has_no_sequential_form
#elif defined(__cplusplus)
#define FIN_CONT_BLOCK_ ((void)fin_async_must_be_inside_fin_finish, ::fin::detail::raw_of(fin_owner_))
#else
#define FIN_CONT_BLOCK_ ((void)fin_async_must_be_inside_fin_finish, (struct fin_finish_block *)(uintptr_t)fin_owner_)
#endif
#ifndef FIN_ELIDE
#define FIN_CONT_IN_(block) (block)
#endif
#endif
