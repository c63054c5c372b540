// SPDX-License-Identifier: BSD-2-Clause
// A backtrace comes to an end at each instruction of a program that blocks, resumes and ends AWEs, whatever lies on their
// stacks: profilers take them in handlers of signals. Single steps where the processor has them, a timer elsewhere.
#define _GNU_SOURCE
#include <string.h>

#include <fin.h>

#include "check.h"
#include "process.h"

#ifdef __GLIBC__
#include <execinfo.h>
#include <signal.h>
#include <sys/time.h>

enum { MOST = 48, ENOUGH = 200 };

static unsigned taken;

static void take(void) {
    void *frames[MOST];
    CHECK(backtrace(frames, MOST) > 0);
    taken++;
}

// The processor steps while the flag is set in what the handler goes back to: nothing of the program sets it, as what moves
// its stack pointer for that is not said in the tables of the function around it.
static volatile bool on;

static void handle(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
#ifdef __x86_64__
    enum { TRAP = 0x100 };
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    *flags = on ? *flags | TRAP : *flags & ~(greg_t)TRAP;
#else
    (void)context;
#endif
    take();
}

static void begin(void) {
    static char stack[1 << 16];
    CHECK_EQ(sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL), 0);
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_ONSTACK | SA_RESTART | SA_SIGINFO};
    on = true;
#ifdef __x86_64__
    CHECK_EQ(sigaction(SIGTRAP, &action, NULL), 0);
    CHECK_EQ(raise(SIGTRAP), 0);
#else
    CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
    struct timeval often = {.tv_usec = 50};
    CHECK_EQ(setitimer(ITIMER_REAL, &(struct itimerval){often, often}, NULL), 0);
#endif
}

static void end(void) {
    on = false;
#ifndef __x86_64__
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
#endif
}

// What lies below the caller's frame is no address of anything.
static void __attribute__((noinline)) soil(void) {
    uint64_t below[128];
    for (int i = 0; i < 128; i++)
        below[i] = 0x1577cac548e;
    __asm__ volatile("" : : "r"(below) : "memory");
}

static struct fin_awe *waits;

static void take_then(void *unused) {
    (void)unused;
    take();
}

static void waiter(void *unused) {
    (void)unused;
    soil();
    fin_suspend(&waits);
    soil();
    fin_suspend_then(&waits, take_then, NULL);
    soil();
    fin_yield();
}

static void canceller(void *unused) {
    (void)unused;
    soil();
    CHECK_EQ(fin_sleep(3600 * FIN_S), -ECANCELED);
}

static void work(void) {
    soil();
    fin_finish {
        fin_async_call(waiter, NULL);
        for (int i = 0; i < 2; i++) {
            soil();
            fin_yield();
            CHECK_EQ(fin_schedule(waits), 0);
            soil();
            fin_yield();
        }
        fin_async_eager { waiter(NULL); };
        soil();
        fin_yield_to(waits);
        CHECK_EQ(fin_schedule(waits), 0);
        soil();
    }
    fin_finish_as(all) {
        fin_async_call(canceller, NULL);
        soil();
        CHECK_EQ(fin_sleep(1), 0);
        soil();
        fin_cancel_as(all);
        soil();
    }
}

int main(void) {
    if (ON_TSAN || on_valgrind())
        SKIP("a tool keeps signals for later, or does not step");
    take(); // loads what it needs
    work();
    for (unsigned before = taken; taken < before + ENOUGH; end()) { // a timer's come seldom where the machine is busy
        begin();
        work();
    }
    return 0;
}
#else
int main(void) { SKIP("this libc has no backtrace()"); }
#endif
