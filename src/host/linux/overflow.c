// SPDX-License-Identifier: BSD-2-Clause
#define _GNU_SOURCE
#include "host/linux/overflow.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "host/linux/running.h"
#include "host/linux/symbol.h"

enum { SIGNAL_STACK = 32 * 1024 };
static __thread void *signal_stack;

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
static bool below_os_stack(struct fin_runtime *rt, uintptr_t p, uintptr_t sp) {
    enum { NEAR = 64 * 1024 };
    for (struct fin_slab *s = rt->slabs; s; s = s->next)
        if (sp - (uintptr_t)s->base < s->stacks * rt->stack_size)
            return false;
    return p - (sp - NEAR) < 2 * NEAR;
}

// The program ends here, so what is not async-signal-safe is used where it cannot deadlock in practice: on our own signal
// stack, with a formatted buffer and one write.
static void on_fault(int sig, siginfo_t *info, void *context) {
    struct fin_runtime *rt = (struct fin_runtime *)fin_self;
    uintptr_t address = (uintptr_t)info->si_addr;
    bool ours = rt && info->si_code > 0 && in_guard(rt, address);
    if (ours || (rt && info->si_code > 0 && below_os_stack(rt, address, stack_pointer(context)))) {
        struct fin_running r = fin_running(rt);
        char text[768], function[256] = "";
        if (r.at)
            fin_symbol_at(r.at, function, sizeof function);
        char what[64] = "the OS thread's own stack is";
        if (ours)
            snprintf(what, sizeof what, "its %zu KiB are", rt->stack_size / 1024);
        int n = snprintf(text, sizeof text,
                         "fin: stack overflow in AWE \"%s\"%s%s: %s used up. Set %s, or put what is large on the heap.\n",
                         r.name ? r.name : "unnamed", r.how, function, what,
                         ours ? "FIN_STACK_SIZE (bytes)" : "the thread's stack size (ulimit -s)");
        if (n > 0 && write(STDERR_FILENO, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1) < 0)
            _exit(127);
    }
    signal(sig, SIG_DFL); // the fault repeats, with the usual end; what somebody sent does not
    if (info->si_code <= 0)
        raise(sig);
}

void fin_overflow_begin(void) {
    struct sigaction old, action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (sigaction(SIGSEGV, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
        sigaction(SIGSEGV, &action, NULL);
}

void fin_overflow_thread_begin(void) {
    stack_t old;
    if (sigaltstack(NULL, &old) != 0 || !(old.ss_flags & SS_DISABLE))
        return;
    signal_stack = malloc(SIGNAL_STACK);
    if (signal_stack)
        sigaltstack(&(stack_t){.ss_sp = signal_stack, .ss_size = SIGNAL_STACK}, NULL);
}

void fin_overflow_thread_end(void) {
    if (!signal_stack)
        return;
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    free(signal_stack);
    signal_stack = NULL;
}
