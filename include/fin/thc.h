// SPDX-License-Identifier: BSD-2-Clause
// Source compatibility with Barrelfish's THC (ac) and with libasync, which extends it (ac-extensions 4, 5): programs written
// for their interfaces compile against this header, in GNU C with GCC, in Clang's C with -fblocks, and in C++. Each name is
// Fin's word for the same thing; where the originals left a misuse undefined, Fin's rules hold.
//
// The order of execution is that of the originals: the body of an ASYNC runs at once; when it blocks, what follows the ASYNC
// runs next, before anything that is queued; the queue is first in, first out, except that THCSchedule puts at its head.
//
// What is about AWEs is about those of the calling thread, except that THCSchedule and the synchronization functions may be
// called from any thread.
//
// The code that is given to a macro may contain commas, but for ASYNC_, whose tag comes last; and may be one statement or a
// block. Bodies of ASYNC see and change the variables around them; in Clang's C those that a body changes are declared
// `fin_shared`. A body that has blocked must not use variables that are gone by then: those that are declared in the code of
// a DO_FINISH, which end with that code; and those of a function without a DO_FINISH around the ASYNC, which returns
// meanwhile.
#ifdef __cplusplus
extern "C++" {
#include <fin.hpp>
}
#else
#include <fin.h>
#endif

#if defined(FIN_H) && !defined(FIN_THC_H) // otherwise that one has said what is wrong
#define FIN_THC_H

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header
#endif

#include <fin/thc_ipc.h>

// Results.
#ifndef errval_t
typedef int errval_t;
#endif
#ifndef SYS_ERR_OK
#define SYS_ERR_OK 0
#endif
#ifndef THC_CANCELED
#define THC_CANCELED 1
#endif
#define THC_RESULT_(r) ((r) == 0 ? SYS_ERR_OK : THC_CANCELED)

// A finish block; with a tag for CANCEL; shielded from the cancellation of the blocks around it. `break` leaves it.
#define DO_FINISH(...) THC_FINISH_(fin_finish, __VA_ARGS__)
#define DO_FINISH_(tag, ...) THC_FINISH_(fin_finish_as(tag), __VA_ARGS__)
#define DO_FINISH_NX(...) THC_FINISH_(fin_finish_nc, __VA_ARGS__)

// Asks everything that waits in the enclosing block with that tag to stop waiting.
#define CANCEL(tag) fin_cancel_as(tag)

// Runs the code; if the code blocks, goes on after it. Inside an ASYNC, and in functions that a DO_FINISH calls, the ASYNC
// belongs to the innermost block that is open.
#define ASYNC(...) THC_ASYNC_(__VA_ARGS__)

// The same with the tag of an enclosing block. The code is waited for at the end of the innermost.
#define ASYNC_(code, tag)                                                                                             \
    do {                                                                                                              \
        (void)fin_cancel_as_needs_fin_finish_as_##tag;                                                               \
        ASYNC(code);                                                                                                  \
    } while (0)

// Where an ASYNC looks for its block. It is found here if there is none around the ASYNC in the same function.
#ifdef __cplusplus
extern "C++" {
namespace fin {
namespace detail {

struct free_site {
    template <class Body> friend __attribute__((always_inline)) inline void operator%(free_site, Body &&b) {
        using B = std::decay_t<Body>;
        B copy(std::forward<Body>(b));
        fin_thread_here_(); // there may be no block
        detail::eager_call(nullptr, &run<B>, &copy);
    }
};

template <bool Lambda> free_site site(body_scope, const no_block &, place<Lambda>) { return {}; }

} // namespace detail
} // namespace fin
}

inline constexpr ::fin::detail::body_scope thc_async_{};

#define THC_FINISH_(block, ...)                                                                                       \
    do {                                                                                                              \
        block {                                                                                                       \
            [[maybe_unused]] auto &thc_async_ = fin_async_must_be_inside_fin_finish;                                  \
            { __VA_ARGS__; }                                                                                          \
        }                                                                                                             \
    } while (0)
#define THC_ASYNC_(...)                                                                                               \
    do {                                                                                                              \
        [[maybe_unused]] auto &fin_async_must_be_inside_fin_finish = thc_async_;                                      \
        fin_async {                                                                                                   \
            [[maybe_unused]] auto &thc_async_ = fin_async_must_be_inside_fin_finish;                                  \
            { __VA_ARGS__; }                                                                                          \
        };                                                                                                            \
    } while (0)
#else
static struct fin_body_scope_ *const thc_async_ __attribute__((unused)) = NULL;

// As FIN_ARCH_SP_CLOBBERED_ does, for sites in an argument of a macro: what they say of warnings Clang does not hear there.
#ifdef __clang__
#define THC_QUIET_ _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wstack-protector\"")
#define THC_LOUD_ _Pragma("clang diagnostic pop")
#else
#define THC_QUIET_
#define THC_LOUD_
#endif

#define THC_FINISH_(block, ...)                                                                                       \
    do {                                                                                                              \
        THC_QUIET_ block {                                                                                            \
            THC_HERE_;                                                                                                \
            { __VA_ARGS__; }                                                                                          \
        }                                                                                                             \
        THC_LOUD_                                                                                                     \
    } while (0)
#define THC_ASYNC_(...)                                                                                               \
    do {                                                                                                              \
        __typeof__(thc_async_) fin_async_must_be_inside_fin_finish __attribute__((unused)) = thc_async_;              \
        if (!fin_owner_)                                                                                              \
            fin_thread_here_(); /* no block has begun the thread */                                                   \
        fin_async {                                                                                                   \
            THC_HERE_;                                                                                                \
            { __VA_ARGS__; }                                                                                          \
        };                                                                                                            \
    } while (0)
#define THC_HERE_                                                                                                     \
    __typeof__(fin_async_must_be_inside_fin_finish) const thc_async_ __attribute__((unused)) =                        \
        fin_async_must_be_inside_fin_finish
#endif

#ifdef __cplusplus
extern "C" {
#endif

// AWEs (ac figure 7; ac-extensions 4). The functions that end an AWE, and those that yield, block; none is cancelled.
typedef struct fin_awe awe_t;

FIN_BLOCKING static inline void THCSuspend(awe_t **slot) { fin_suspend(slot); }
FIN_BLOCKING static inline void THCSuspendThen(awe_t **slot, void (*then)(void *), void *arg) {
    fin_suspend_then(slot, then, arg);
}
// As in the originals, an AWE of the calling thread that is saved and off the queue may be scheduled, too.
void fin_thc_schedule_(awe_t *awe, bool front);
static inline void THCSchedule(awe_t *awe) { fin_thc_schedule_(awe, true); }
static inline void THCScheduleBack(awe_t *awe) { fin_thc_schedule_(awe, false); }
FIN_BLOCKING static inline void THCYield(void) { fin_yield(); }
FIN_BLOCKING static inline void THCYieldTo(awe_t *awe) { fin_yield_to(awe); }

// Ends the running ASYNC as if its code had ended here, after waiting for the blocks that it has open. No destructors run,
// and an exception that has left an async of those blocks is lost. Outside any ASYNC the AWE stops for ever. Does not
// return.
FIN_BLOCKING void fin_end_(void);
static inline FIN_BLOCKING void THCFinish(void) { fin_end_(); }
static inline FIN_BLOCKING void THCAbort(void) { fin_end_(); }

// Asks the AWEs of the calling thread to come to their ends; they have to check for it. Holds until the next thc_init or
// thc_done.
void fin_thc_stop_(bool stop);
bool fin_thc_stopping_(void);
static inline void THCStopAllAwes(void) { fin_thc_stop_(true); }
static inline int THCShouldStop(void) { return fin_thc_stopping_(); }

// A thread needs none of these calls to use all this; the first two withdraw what THCStopAllAwes asked for.
static inline void thc_init(void) { fin_thc_stop_(false); }
static inline void thc_done(void) { fin_thc_stop_(false); }
static inline void thc_global_init(void) {}
static inline void thc_global_fini(void) {}

// Cancellation. An item that is added to a block cancelled already runs at once.
typedef struct fin_cancel_item cancel_item_t;

static inline void THCAddCancelItem(cancel_item_t *item, void (*fn)(void *), void *arg) {
    fin_cancel_item_add(item, fn, arg);
}
static inline void THCRemoveCancelItem(cancel_item_t *item) { fin_cancel_item_remove(item); }
static inline int THCCancelItemRan(cancel_item_t *item) { return fin_cancel_item_ran(item); }
static inline int THCIsCancelRequested(void) { return fin_cancelled(); }

// Counters of the calling thread, printed on the standard output stream.
void fin_thc_dump_stats_(bool clear);
void fin_thc_count_(bool sent);
static inline void THCDumpStats(int clear) { fin_thc_dump_stats_(clear); }
static inline void THCIncSendCount(void) { fin_thc_count_(true); }
static inline void THCIncRecvCount(void) { fin_thc_count_(false); }

// Ids, of the calling thread (ac-extensions 5.1, 5.2). Yielding to an id that names no AWE is an error and does nothing;
// saving under an id that does not exist is a plain yield.
static inline void awe_mapper_init(void) {}
static inline void awe_mapper_uninit(void) {}
static inline int awe_mapper_create_id(uint32_t *id) { return fin_awe_id_create(id); }
static inline void awe_mapper_remove_id(uint32_t id) { fin_awe_id_remove(id); }
static inline void awe_mapper_set_id(uint32_t id, awe_t *awe) { fin_awe_id_set(id, awe); }
static inline awe_t *awe_mapper_get_awe_ptr(uint32_t id) { return fin_awe_id_get(id); }

FIN_BLOCKING static inline void THCYieldAndSave(uint32_t id) {
    if (fin_yield_and_save(id) != 0)
        fin_yield();
}
FIN_BLOCKING static inline int THCYieldToId(uint32_t to) { return fin_yield_to_id(to); }
FIN_BLOCKING static inline int THCYieldToIdAndSave(uint32_t to, uint32_t from) { return fin_yield_to_id_and_save(to, from); }
FIN_BLOCKING static inline void THCYieldAndSaveNoDispatch(uint32_t id) {
    if (fin_yield_and_save_no_dispatch(id) != 0)
        fin_yield();
}
FIN_BLOCKING static inline int THCYieldToIdNoDispatch(uint32_t to) { return fin_yield_to_id_no_dispatch(to, NULL); }
FIN_BLOCKING static inline int THCYieldToIdAndSaveNoDispatch(uint32_t to, uint32_t from) {
    return fin_yield_to_id_and_save_no_dispatch(to, from);
}
// the paper's spelling
#define THCYieldAndSave_NoDispatch THCYieldAndSaveNoDispatch
#define THCYieldToId_NoDispatch THCYieldToIdNoDispatch
#define THCYieldToIdAndSave_NoDispatch THCYieldToIdAndSaveNoDispatch

// Synchronization, see <fin/sync.h>. The plain names are not cancelled.
typedef struct fin_sem thc_sem_t;
typedef struct fin_mutex thc_lock_t;
typedef struct fin_cond thc_condvar_t;
typedef struct fin_queue thc_queue_t;
typedef struct fin_queue_entry thc_queue_entry_t;
typedef struct fin_event thc_ec_t;
typedef struct fin_seq thc_seq_t;
struct thc_latch {
    struct fin_latch latch;
};

static inline void thc_latch_init(struct thc_latch *l) { fin_latch_init(&l->latch); }
static inline void thc_latch_acquire(struct thc_latch *l) { fin_latch_acquire(&l->latch); }
static inline void thc_latch_release(struct thc_latch *l) { fin_latch_release(&l->latch); }

static inline void thc_sem_init(thc_sem_t *s, int value) { fin_sem_init(s, value); }
FIN_BLOCKING static inline void thc_sem_p(thc_sem_t *s) { fin_sem_wait_nc(s); }
FIN_BLOCKING static inline errval_t thc_sem_p_x(thc_sem_t *s) { return THC_RESULT_(fin_sem_wait(s)); }
static inline void thc_sem_v(thc_sem_t *s) { fin_sem_post(s); }

static inline void thc_lock_init(thc_lock_t *l) { fin_mutex_init(l); }
FIN_BLOCKING static inline void thc_lock_acquire(thc_lock_t *l) { fin_mutex_lock_nc(l); }
static inline void thc_lock_release(thc_lock_t *l) { fin_mutex_unlock(l); }

static inline void thc_condvar_init(thc_condvar_t *cv) { fin_cond_init(cv); }
FIN_BLOCKING static inline void thc_condvar_wait(thc_condvar_t *cv, thc_lock_t *lock) { fin_cond_wait_nc(cv, lock); }
FIN_BLOCKING static inline errval_t thc_condvar_wait_x(thc_condvar_t *cv, thc_lock_t *lock) {
    return THC_RESULT_(fin_cond_wait(cv, lock));
}
static inline void thc_condvar_signal(thc_condvar_t *cv) { fin_cond_signal(cv); }
static inline void thc_condvar_broadcast(thc_condvar_t *cv) { fin_cond_broadcast(cv); }

static inline void thc_queue_init(thc_queue_t *q) { fin_queue_init(q); }
static inline void thc_queue_enter(thc_queue_t *q, thc_queue_entry_t *e) { fin_queue_enter(q, e); }
FIN_BLOCKING static inline void thc_queue_await_turn(thc_queue_t *q, thc_queue_entry_t *e) { fin_queue_await_turn_nc(q, e); }
FIN_BLOCKING static inline errval_t thc_queue_await_turn_x(thc_queue_t *q, thc_queue_entry_t *e) {
    return THC_RESULT_(fin_queue_await_turn(q, e));
}
static inline int thc_queue_leave(thc_queue_t *q, thc_queue_entry_t *e) { return fin_queue_leave(q, e); }

static inline void thc_ec_init(thc_ec_t *ec) { fin_event_init(ec); }
static inline uint64_t thc_ec_read(thc_ec_t *ec) { return fin_event_read(ec); }
FIN_BLOCKING static inline void thc_ec_await(thc_ec_t *ec, uint64_t v) { fin_event_await_nc(ec, v); }
FIN_BLOCKING static inline errval_t thc_ec_await_x(thc_ec_t *ec, uint64_t v) { return THC_RESULT_(fin_event_await(ec, v)); }
static inline void thc_ec_advance(thc_ec_t *ec, uint64_t d) { fin_event_advance(ec, d); }

static inline void thc_seq_init(thc_seq_t *s) { fin_seq_init(s); }
static inline uint64_t thc_seq_read(thc_seq_t *s) { return fin_seq_read(s); }
static inline uint64_t thc_seq_ticket(thc_seq_t *s) { return fin_seq_ticket(s); }

#ifdef __cplusplus
}
#endif
#endif
