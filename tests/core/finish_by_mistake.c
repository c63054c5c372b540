// SPDX-License-Identifier: BSD-2-Clause
// The owner of a finish block waits at its end for the work in it: the program cannot end that wait, with whatever address,
// as may once have been that of an AWE of its own.
#include <fin.h>

#include "process.h"

enum { AROUND = 1024 };
static char *frame;
static bool done;

static void mistakes(void *unused) {
    (void)unused;
    fin_yield(); // until the owner waits
    for (char *p = frame - AROUND; p < frame + AROUND; p += sizeof(void *)) {
        struct fin_awe *a = (struct fin_awe *)(void *)p;
        CHECK(fin_schedule(a) < 0);
        CHECK(fin_schedule_front(a) < 0);
        CHECK(fin_yield_to(a) < 0);
    }
    done = true;
}

static void __attribute__((noinline)) owner(void) {
    char here[sizeof(void *)] __attribute__((aligned(16)));
    frame = here;
    fin_finish {
        fin_async_eager_call(mistakes, NULL);
    }
    CHECK(done);
}

int main(void) {
    volatile char room[2 * AROUND]; // what lies above is memory
    if (ON_ASAN || ON_TSAN || on_valgrind())
        SKIP("who reads what is no object is for the tool to report");
    room[0] = 0;
    owner();
    return room[0];
}
