// SPDX-License-Identifier: BSD-2-Clause
// The low-level API (ac 4.3, figure 7): what asynchronous operations are built from.
// An AWE belongs to the OS thread that it was started on and never moves to another.
#ifndef FIN_AWE_H
#define FIN_AWE_H

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // casts in C++
#endif

#include <fin/finish.h>
#if defined(__x86_64__)
#include <fin/arch/x86_64.h>
#elif defined(__aarch64__)
#include <fin/arch/aarch64.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Also where a compiler does not optimize: an AWE then waits in the function of the program, which reports name.
#define FIN_INLINE_ static inline __attribute__((always_inline, unused))

// The state of a waiting AWE says how it waits and, by the number of a runtime, on which thread. The values are unlikely to
// occur in stale memory, so that in most cases a pointer to an AWE that no longer exists is recognized as such. So is a byte
// copy of an AWE of the calling thread that is on a list and not explicit. Given a copy of another thread's AWE,
// fin_schedule may return 0; nothing runs then, as long as the copy stays in place. Only ids (fin/awe_id.h) are told apart
// in all cases.
enum fin_awe_state {
    FIN_AWE_RUNNING = 0x52554e10,      // resumed: the AWE is over, its frame may be reused
    FIN_AWE_RUNNING_CONT = 0x52554e90, // resumed and explicit, so that it is not over: fin/cont.h
    FIN_AWE_WAITS = (int)0xa7000000,   // plus the runtime's number, times FIN_AWE_RUNTIME, plus one of
    FIN_AWE_RUNTIME = 0x100,
    FIN_AWE_QUEUED = 0x10,    // in the run queue
    FIN_AWE_SUSPENDED = 0x20, // waits for fin_schedule or fin_yield_to
    FIN_AWE_WOKEN = 0x30,     // scheduled by another thread, in the inbox
    FIN_AWE_SAVED = 0x40,     // on no list: waits for a directed yield of its own thread
    FIN_AWE_BUSY = 0x50,      // waits for an operation or an object: only that resumes it
    FIN_AWE_KIND = 0x70,
    FIN_AWE_RUNTIMES = 0xffff, // at most
};

// Makes Clang compute the address of an AWE each time, in two instructions. Otherwise it computes the address once and keeps
// it in the one register that the AWE itself saves during a wait, and from which it is then read back. Switches are quicker
// this way (`./run bench`, table switch), but that this is the reason is a guess; with GCC they are not quicker.
#ifdef __clang__
#define FIN_AWE_ANEW_(address) __asm__ volatile("" : "+r"(address))
#else
#define FIN_AWE_ANEW_(address)
#endif

// The AWE that is to wait in this frame, on one cache line.
#define FIN_AWE_HERE_(a)                                                                                                    \
    char a##room[sizeof(struct fin_awe) + 48] __attribute__((aligned(16)));                                                 \
    uintptr_t a##end = (uintptr_t)a##room + 48;                                                                             \
    FIN_AWE_ANEW_(a##end);                                                                                                  \
    struct fin_awe *a = (struct fin_awe *)(a##end & ~(uintptr_t)63)

// entry points of the core, reached through FIN_ARCH_BLOCK_ only
void fin_core_yield_(struct fin_awe *a, struct fin_thread *t);
void fin_core_yield_to_(struct fin_awe *a, struct fin_thread *t, struct fin_awe *to);
void fin_core_suspend_(struct fin_awe *a, struct fin_thread *t, struct fin_awe **slot, void *then);
void fin_finish_wait_(struct fin_awe *a, struct fin_finish_block *b);
void fin_async_done_(void);

struct fin_then_ {
    void (*fn)(void *);
    void *arg;
};

// Puts the running AWE at the tail of the run queue and runs the next (ac 4.3). If the continuation of an enclosing async
// has not run yet, it goes first. Blocking, not cancellable.
FIN_INLINE_ void FIN_BLOCKING fin_yield(void) {
    FIN_AWE_HERE_(a);
    FIN_ARCH_BLOCK_(fin_core_yield_, a, fin_thread_here_(), fin_any_(), fin_any_());
}

// Puts the running AWE at the tail of the run queue and runs `to` now; if `to` is queued it leaves the queue first. Pending
// continuations of enclosing asyncs go to the head of the queue. If `to` belongs to another thread, it is scheduled there
// instead and the caller runs on. Returns 0; -EALREADY if `to` has been resumed or woken already; -EINVAL if it is not an
// AWE that waits, or is NULL. Blocking, not cancellable.
FIN_INLINE_ int FIN_BLOCKING fin_yield_to(struct fin_awe *to) {
    FIN_AWE_HERE_(a);
    FIN_ARCH_BLOCK_(fin_core_yield_to_, a, fin_thread_here_(), to, fin_any_());
    return (int)a->id;
}

// Ends the running AWE and stores its continuation in *slot (ac 4.3). Returns when somebody schedules it. Blocking; not
// cancellable by itself: a cancel item can schedule the AWE.
FIN_INLINE_ void FIN_BLOCKING fin_suspend(struct fin_awe **slot) {
    FIN_AWE_HERE_(a);
    FIN_ARCH_BLOCK_(fin_core_suspend_, a, fin_thread_here_(), slot, 0);
}

// The same; then(arg) runs once the AWE can be resumed (the paper's SuspendUnlock: release the lock that guards *slot
// there). `then` must not block nor throw.
FIN_INLINE_ void FIN_BLOCKING fin_suspend_then(struct fin_awe **slot, void (*then)(void *), void *arg) {
    FIN_AWE_HERE_(a);
    struct fin_then_ t = {then, arg};
    FIN_ARCH_BLOCK_(fin_core_suspend_, a, fin_thread_here_(), slot, &t);
}

// Makes a suspended AWE runnable, at the tail of its owner's queue. May be called from any thread, but not from a signal
// handler; wakes the owner's thread if it is idle. Returns 0; -EALREADY if the AWE was scheduled before, has been taken by a
// directed yield or is saved for one; -EINVAL if it is not an AWE that waits, waits for an operation or object of the
// library, or is NULL. Does not block. Once this has returned 0 the AWE may no longer exist: do not use the pointer again.
// (While its thread lives, a second call is -EALREADY or -EINVAL, unless another AWE is suspended at the same place by then;
// after that its memory is gone. fin/awe_id.h has names that are told apart for good.)
int fin_schedule(struct fin_awe *a);

// The same at the head of the queue: it runs next. An AWE of another thread comes to the tail there all the same.
int fin_schedule_front(struct fin_awe *a);

// Gives the running AWE a name for gdb, for the report of a stack overflow and the like. The string is not copied. Does not
// block. Once the AWE waits without a stack, its continuation is shown instead, and the name is gone (fin/cont.h).
void fin_set_name(const char *name);

// Sets how far apart stacks lie, in bytes, of threads that use the library for the first time from here on: call it first in
// main. Rounded up to a power of two, four pages at least; one page is the guard, some of the top is the library's. 0, as
// it is at first, stands for 64 KiB. Where many AWEs wait at once, stacks that lie closer share more of the page tables, and
// of the caches that hold these: with 1,024 reads in flight 16 KiB save some 3% of a program's CPU time. Too little ends the
// program, with a report: glibc's printf to stderr, which is not buffered, takes 8 KiB for that alone. In a program that
// ASan or TSan is built into, less than the default is not taken. If FIN_STACK_SIZE is set in the environment, that holds
// instead. Returns 0, or -EINVAL for more than 1 GiB. Does not block. From any thread.
int fin_set_stack_size(size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
