// SPDX-License-Identifier: BSD-2-Clause
// What a program that crashes says before it ends as it would have: which AWE, and whether its stack was too small.
#define _GNU_SOURCE
#include "host/linux/crash.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

#include "host/linux/quiet.h"
#include "host/linux/running.h"
#include "host/linux/symbol.h"
#include "host/linux/trace.h"
#include "own_thread.h"

enum { SIGNAL_STACK = 32 * 1024 }; // and what the kernel puts there: the more registers, the more
static __thread void *signal_stack;
static __thread struct { // what this thread reports
    int sig;
    const char *what;
} first;

static bool in_guard(struct fin_runtime *rt, uintptr_t p) {
    for (struct fin_slab *s = rt->slabs; s; s = s->next)
        if (p - (uintptr_t)s->base < s->stacks * rt->stack_size)
            return (p & (rt->stack_size - 1)) < fin_host_page_size();
    return false;
}

static uintptr_t stack_pointer(const ucontext_t *c) {
#if defined(__x86_64__)
    return (uintptr_t)c->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (uintptr_t)c->uc_mcontext.sp;
#endif
}

// Of the stack that the thread came with it is only known that memory ends where the stack pointer is.
static bool is_near(uintptr_t p, uintptr_t sp) {
    enum { NEAR = 64 * 1024 };
    return p - (sp - NEAR) < 2 * NEAR;
}

static bool below_os_stack(struct fin_runtime *rt, uintptr_t p, uintptr_t sp) {
    for (struct fin_slab *s = rt->slabs; s; s = s->next)
        if (sp - (uintptr_t)s->base < s->stacks * rt->stack_size)
            return false;
    return is_near(p, sp);
}

static const struct {
    int number;
    const char *name;
} fatal[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}};
enum { FATAL = sizeof fatal / sizeof *fatal };

static void print(const char *text, size_t length, size_t most) {
    if (write(STDERR_FILENO, text, length < most ? length : most - 1) < 0)
        return;
}

static void report_overflow(struct fin_runtime *rt, bool ours) {
    struct fin_running r = fin_running(rt);
    char text[768], function[256] = "", what[64] = "the OS thread's own stack is";
    fin_running_name(&r, function, sizeof function);
    if (ours)
        snprintf(what, sizeof what, "its %zu KiB are", rt->stack_size / 1024);
    int n = snprintf(text, sizeof text,
                     "fin: stack overflow in AWE \"%s\"%s%s: %s used up. Set %s, or put what is large on the heap.\n",
                     r.name ? r.name : "unnamed", r.how, function, what,
                     ours ? "FIN_STACK_SIZE (bytes)" : "the thread's stack size (ulimit -s)");
    print(text, (size_t)n, sizeof text);
}

static const char *name_of(int sig) {
    for (int i = 0; i < FATAL; i++)
        if (fatal[i].number == sig)
            return fatal[i].name;
    return "a signal";
}

static void report_crash(struct fin_runtime *rt, int sig, const ucontext_t *c) {
    struct fin_running r = fin_running(rt);
    char text[1024], function[256] = "", where[256];
    fin_running_name(&r, function, sizeof function);
    int n = snprintf(text, sizeof text, "fin: %s in AWE \"%s\"%s%s, thread %d, at %s\n", name_of(sig),
                     r.name ? r.name : "unnamed", r.how, function, rt->tid,
                     fin_symbol_at(fin_interrupted_at(c), where, sizeof where));
    print(text, (size_t)n, sizeof text);
}

static void report_overflow_of_call(void) {
    char text[768], function[256];
    int n = snprintf(text, sizeof text,
                     "fin: stack overflow in a function of fin_offload, %s: the OS thread's own stack is used up. Set the "
                     "thread's stack size (ulimit -s), or put what is large on the heap.\n",
                     fin_symbol_at((const void *)fin_own_thread_calls, function, sizeof function));
    print(text, (size_t)n, sizeof text);
}

static void report_call(int sig, const ucontext_t *c) {
    char text[1024], function[256], where[256];
    int n = snprintf(text, sizeof text, "fin: %s in a function of fin_offload, %s, thread %d, at %s\n", name_of(sig),
                     fin_symbol_at((const void *)fin_own_thread_calls, function, sizeof function), gettid(),
                     fin_symbol_at(fin_interrupted_at(c), where, sizeof where));
    print(text, (size_t)n, sizeof text);
}

static int ended_inside; // the thread that was the last to end so, or 0

void fin_crash_thread_ended_inside(int tid) { __atomic_store_n(&ended_inside, tid, __ATOMIC_RELAXED); }

// Maybe the fault comes from that.
static void report_ended_inside(void) {
    char text[256];
    int tid = __atomic_load_n(&ended_inside, __ATOMIC_RELAXED);
    if (!tid)
        return;
    int n = snprintf(text, sizeof text,
                     "fin: before that thread %d ended while AWEs of it waited, by pthread_exit in a finish block? "
                     "docs/core.md says what must not be used again.\n",
                     tid);
    print(text, (size_t)n, sizeof text);
}

static void block(int how, int sig) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, sig);
    if (sig == SIGSEGV)
        sigaddset(&set, SIGBUS);
    pthread_sigmask(how, &set, NULL);
}

// A report crashed in its turn, as frames and blocks are no longer what they were. It ends as it would have without.
static void report_lost(void) {
    char text[256];
    int n = snprintf(text, sizeof text,
                     "fin: %s in an AWE whose description is overwritten: if by a frame that went over the guard of its "
                     "stack in one step, compile with -fstack-clash-protection.\n",
                     first.what);
    print(text, (size_t)n, sizeof text);
    signal(first.sig, SIG_DFL);
    block(SIG_UNBLOCK, first.sig);
    raise(first.sig);
}

// rt is NULL in a thread without AWEs.
static void report(struct fin_runtime *rt, int sig, const siginfo_t *info, const ucontext_t *context) {
    uintptr_t address = (uintptr_t)info->si_addr;
    bool fault = info->si_code > 0, memory = fault && sig == SIGSEGV, own = fault || info->si_pid == getpid();
    first.what = "stack overflow";
    if (rt && memory && in_guard(rt, address)) {
        report_overflow(rt, true);
    } else if (rt && memory && below_os_stack(rt, address, stack_pointer(context))) {
        report_overflow(rt, false);
    } else if (rt && rt->thread.current != &rt->root && own) {
        first.what = name_of(sig);
        report_crash(rt, sig, context);
    } else if (!rt && fin_own_thread_calls && memory && is_near(address, stack_pointer(context))) {
        report_overflow_of_call();
    } else if (fin_own_thread_calls && own) {
        first.what = name_of(sig);
        report_call(sig, context);
    }
}

// Of several threads that crash, the first ends the process when it has told all; unless it cannot, as one of the others has
// a lock that it needs.
static void wait_for_first(void) {
    static pid_t crashing; // the process: the child of a fork has none of its parent's threads
    enum { PATIENCE_MS = 10000 };
    bool waits = __atomic_exchange_n(&crashing, getpid(), __ATOMIC_RELAXED) == getpid();
    for (int ms = 0; waits && ms < PATIENCE_MS; ms++)
        fin_host_nap();
}

// The program ends here, so what is not async-signal-safe is used where it cannot deadlock in practice: on our own signal
// stack, with a formatted buffer and one write.
static void on_fault(int sig, siginfo_t *info, void *context) {
    struct fin_runtime *rt = (struct fin_runtime *)fin_self;
    if (first.sig)
        report_lost();
    first.sig = sig;
    wait_for_first();
    struct fin_quiet q = fin_be_quiet(); // SIGPIPE would be another end than sig
    block(SIG_UNBLOCK, SIGSEGV);
    report(rt, sig, info, context);
    if (info->si_code > 0 && (sig == SIGSEGV || sig == SIGBUS))
        report_ended_inside();
    block(SIG_BLOCK, SIGSEGV);
    fin_trace_crashed(name_of(sig));
    fin_be_as_before(&q);
    signal(sig, SIG_DFL); // the fault repeats, with the usual end; what somebody sent does not
    if (info->si_code <= 0)
        raise(sig);
}

void fin_crash_begin(void) {
    for (int i = 0; i < FATAL; i++) {
        struct sigaction old, action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        if (sigaction(fatal[i].number, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
            sigaction(fatal[i].number, &action, NULL);
    }
}

// A sanitizer, or the program, may have given the thread one.
static bool has_signal_stack(void) {
    stack_t now;
    return sigaltstack(NULL, &now) != 0 || !(now.ss_flags & SS_DISABLE);
}

// The program may have set one of its own since.
static void take_back(const void *stack) {
    stack_t now;
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == stack)
        sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
}

void fin_crash_thread_begin(void) {
    if (has_signal_stack())
        return;
    size_t size = SIGNAL_STACK + getauxval(AT_MINSIGSTKSZ);
    signal_stack = malloc(size);
    if (signal_stack)
        sigaltstack(&(stack_t){.ss_sp = signal_stack, .ss_size = size}, NULL);
}

void fin_crash_thread_end(void) {
    if (!signal_stack)
        return;
    take_back(signal_stack);
    free(signal_stack);
    signal_stack = NULL;
}

// One that is allocated might be there still when the program ends, and the thread not: so this one lies in a frame of the
// thread's own stack.
void fin_crash_run(void (*run)(void)) {
    char room[FIN_CRASH_ROOM] __attribute__((aligned(16)));
    if (!has_signal_stack() && getauxval(AT_MINSIGSTKSZ) <= sizeof room / 2)
        sigaltstack(&(stack_t){.ss_sp = room, .ss_size = sizeof room}, NULL);
    run();
    take_back(room);
}
