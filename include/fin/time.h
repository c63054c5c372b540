// SPDX-License-Identifier: BSD-2-Clause
// Time: sleep, and finish blocks that end in time. Nanoseconds of CLOCK_MONOTONIC, which stands still while the machine is
// suspended. See fin/io.h for what holds for all calls.
#ifndef FIN_TIME_H
#define FIN_TIME_H

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // the names of nested fin_timeout shadow each other on purpose
#endif

#include <fin/async.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FIN_US UINT64_C(1000)
#define FIN_MS UINT64_C(1000000)
#define FIN_S UINT64_C(1000000000)

// The time. Does not block.
uint64_t fin_now(void);

// Wait for a time. Return 0, never before the time is over; -ECANCELED if cancelled earlier; -EMFILE, -ENFILE or -ENOMEM if
// the thread cannot get what it needs to wait. fin_sleep_until waits until fin_now() is `when`.
FIN_BLOCKING int fin_sleep(uint64_t ns);
FIN_BLOCKING int fin_sleep_nc(uint64_t ns);
FIN_BLOCKING int fin_sleep_until(uint64_t when);
FIN_BLOCKING int fin_sleep_until_nc(uint64_t when);

// fin_timeout(ns) { ... }: a finish block that is cancelled when the time is over (ac figure 4). It ends when its work ends;
// return, break, continue and goto leave it as they leave fin_finish. With 0 it is cancelled from the start. The time is
// looked at when the thread's AWEs block or yield. So where the thread was held for longer, the wait in progress still takes
// what came in time, but the next call in the block returns -ECANCELED, though its data may be there, too.
//
//     fin_timeout(100 * FIN_MS) {
//         n = fin_recv(fd, buffer, sizeof buffer, 0);
//     }
//     if (n == -ECANCELED && fin_timed_out())
//
// If the thread cannot get what it needs to wait, the block is cancelled at once, as if its time were over. In the
// child of a fork the blocks in which fork was called keep their time.
//
// fin_deadline(when) { ... }: the same, until fin_now() is `when`; several blocks may share that time.

// Of the fin_timeout or fin_deadline block that ended last on this thread: did its time run out? Ask right after the block,
// before the next call that may block. (Even if it did, the work may have been done.) Does not block.
bool fin_timed_out(void);

// Sets how much later than asked for the calling thread's sleeps and timeouts may end, in nanoseconds; 0 at first. When the
// thread sleeps until one is due, it sleeps that much longer and then handles all that became due meanwhile. With many
// timers a millisecond saves most of the wake-ups, and the requests that they start go to the system together. (prctl's
// PR_SET_TIMERSLACK has no effect on the wait of an io_uring.) With UINT64_MAX a thread that nothing else wakes sleeps for
// ever. Returns 0, or a negative errno if the thread cannot get what it needs to wait. Does not block.
int fin_timer_slack(uint64_t ns);

struct fin_timer {
    uint64_t due, order;
    struct fin_timer *child, *next, *prev; // in the heap or in a row, where `child` is one some places behind
    void (*fn)(struct fin_timer *);
    void *arg;
    void *io;     // whose it is
    uint32_t row; // 0: it is in the heap
};

struct fin_timeout_block {
    struct fin_finish_block block;
    struct fin_timer timer;
};

void fin_timeout_begin_(struct fin_finish_block *block, struct fin_timer *timer, uint64_t ns);
void fin_deadline_begin_(struct fin_finish_block *block, struct fin_timer *timer, uint64_t when);
void fin_timeout_end_(struct fin_timer *timer);

FIN_INLINE_ struct fin_finish_block *fin_timeout_enter_(struct fin_timeout_block *t, uint64_t ns) {
    fin_finish_enter_(&t->block, 0);
    fin_timeout_begin_(&t->block, &t->timer, ns);
    return &t->block;
}

FIN_INLINE_ struct fin_finish_block *fin_deadline_enter_(struct fin_timeout_block *t, uint64_t when) {
    fin_finish_enter_(&t->block, 0);
    fin_deadline_begin_(&t->block, &t->timer, when);
    return &t->block;
}

FIN_INLINE_ void fin_timeout_leave_(struct fin_timeout_block *t) {
    fin_finish_leave_(&t->block);
    fin_timeout_end_(&t->timer);
}

#ifdef __cplusplus
}
#endif

#if defined(FIN_ELIDE)
#define fin_timeout(ns) FIN_ELIDED_TIMED_(ns)
#define fin_deadline(when) FIN_ELIDED_TIMED_(when)
#define fin_timed_out() false
#elif !defined(__cplusplus)
// Two loops, because the names that fin_async and fin_cancel look for have another type than the variable that is cleaned
// up.
#define FIN_TIMED_(enter, time)                                                                                             \
    for (struct fin_timeout_block fin_timeout_ __attribute__((cleanup(fin_timeout_leave_), unused)),                        \
         *fin_timeout_once_ = (FIN_ARCH_FRAME_POINTER_(), &fin_timeout_);                                                   \
         fin_timeout_once_; fin_timeout_once_ = NULL)                                                                       \
        for (struct fin_finish_block *const fin_async_must_be_inside_fin_finish                                             \
             __attribute__((unused)) = enter(&fin_timeout_, (time)),                                                        \
             *const fin_cancel_must_be_inside_fin_finish __attribute__((unused)) = fin_async_must_be_inside_fin_finish,     \
             FIN_WRITTEN_HERE_(fin_async_must_be_inside_fin_finish),                                                        \
             *fin_once_ = fin_async_must_be_inside_fin_finish;                                                              \
             fin_once_; fin_once_ = NULL)
#define fin_timeout(ns) FIN_TIMED_(fin_timeout_enter_, ns)
#define fin_deadline(when) FIN_TIMED_(fin_deadline_enter_, when)
#endif
#endif
