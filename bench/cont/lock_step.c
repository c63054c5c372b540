// SPDX-License-Identifier: BSD-2-Clause
// Two processes in lock step, for callgrind. Who has looked in vain for so long that it would give its processor away calls
// sched_yield(2). Here that gives the turn to the other process, and returns with the next turn: so nothing is counted but
// what the call needs, and looks in vain, which are as many each time.
//
// How much the looks are is counted, too: where the turn is given at each second call only, there are twice as many.
//
// Of several callers none looks alone, and none would give a turn before all others sleep: another AWE of each process does,
// whenever it is that one's time to run.
//
// Where both are to sleep there are no turns, and each looks in vain until it does. Then both pause for so long that nobody
// is slower under callgrind.
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rows.h"

enum { PATIENCE_NS = 50000000, NOBODY = 2 }; // who waits so long goes on: the other one sleeps, and has to be woken
enum { LONG_US = 10000 };

static struct {
    uint32_t turn;
} *both;
static uint32_t side;
static unsigned calls, each; // 0: no turns

void lock_step_begin(int every) {
    each = (unsigned)every;
    both = mmap(NULL, sizeof *both, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (both == MAP_FAILED)
        bench_failed("mmap", __FILE__, __LINE__, errno);
}

static void await_turn(void) {
    struct timespec patience = {0, PATIENCE_NS};
    uint32_t turn;
    while ((turn = __atomic_load_n(&both->turn, __ATOMIC_ACQUIRE)) != side && turn != NOBODY)
        if (syscall(SYS_futex, &both->turn, FUTEX_WAIT, turn, &patience, NULL, 0) != 0 && errno == ETIMEDOUT)
            return;
}

static void give_turn_to(uint32_t who) {
    __atomic_store_n(&both->turn, who, __ATOMIC_RELEASE);
    syscall(SYS_futex, &both->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void lock_step_child(void) {
    side = 1;
    if (each)
        await_turn();
}

void lock_step_end(void) {
    if (both)
        give_turn_to(NOBODY);
}

bool lock_step_turn(void) {
    if (each && __atomic_load_n(&both->turn, __ATOMIC_RELAXED) != NOBODY) {
        give_turn_to(!side);
        await_turn();
    }
    return each;
}

int sched_yield(void) {
    if (!both)
        return (int)syscall(SYS_sched_yield);
    if (each && ++calls % each == 0)
        lock_step_turn();
    return 0;
}

// Time stands still then: a turn under callgrind is so long that who waits would rather give none for a while.
int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!both)
        return (int)syscall(SYS_clock_gettime, clock, now);
    *now = (struct timespec){.tv_sec = 1000000};
    return 0;
}

void lock_step_pause(void) {
    uint64_t until = bench_ticks() + (uint64_t)(PAUSE_NS * bench_ticks_per_ns);
    if (both)
        usleep(LONG_US); // of several callers all look in vain before the first answer
    else
        while (bench_ticks() < until)
            ;
}
