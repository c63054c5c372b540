// SPDX-License-Identifier: BSD-2-Clause
// Where a filter denies what a process looks at its own memory with, whatever its answer is, the report says as much.
#include <errno.h>

#include "deadlock.h"
#include "io/deny.h"
#include "stuck.h"

static void two_mutexes(void) {
    fin_finish {
        fin_async_call(a_then_b, NULL);
        fin_async_call(b_then_a, NULL);
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
