// SPDX-License-Identifier: BSD-2-Clause
// Where a filter denies what a process looks at its own memory with, whatever its answer is, the report says as much.
#include <errno.h>

#include <fin.h>

#include "io/deny.h"
#include "stuck.h"

static struct fin_mutex a = FIN_MUTEX_INIT, b = FIN_MUTEX_INIT;

static void take_both(struct fin_mutex *first, struct fin_mutex *second) {
    fin_mutex_lock_nc(first);
    fin_yield();
    fin_mutex_lock_nc(second);
}

static void a_then_b(void *unused) {
    (void)unused;
    take_both(&a, &b);
}

static void two_mutexes(void) {
    fin_finish {
        fin_async_call(a_then_b, NULL);
        fin_async { take_both(&b, &a); };
    }
}

static void denied(int error) {
    deny(SYS_process_vm_readv, (unsigned)error);
    two_mutexes();
}

static void with_eacces(void) { denied(EACCES); }
static void with_enosys(void) { denied(ENOSYS); }
static void with_eperm(void) { denied(EPERM); }

#define CYCLE {"nothing can wake process", "entry a_then_b", "for the mutex", "held by 3", "a cycle: 1 waits for 3"}

static struct scenario scenarios[] = {
    {.run = with_eacces, .said = CYCLE},
    {.run = with_enosys, .said = CYCLE},
    {.run = with_eperm, .said = CYCLE},
};

int main(void) {
    if (on_valgrind())
        SKIP("valgrind looks at memory before the kernel does");
    pid_t child = fork();
    if (child == 0) {
        deny(SYS_process_vm_readv, EACCES);
        _exit(0);
    }
    denied_ended(child);
    run_scenarios(scenarios, sizeof scenarios / sizeof *scenarios);
    return 0;
}
