// SPDX-License-Identifier: BSD-2-Clause
// Those that are to run beside who never has to wait: until `over`, one takes turns, one waits for time.
#ifndef FIN_TESTS_OTHERS_H
#define FIN_TESTS_OTHERS_H

#include <fin.h>

#include "check.h"

static bool over;
static int turns, woken;

static void counts_turns(void *arg) {
    (void)arg;
    while (!over) {
        turns++;
        fin_yield();
    }
}

static void wakes(void *arg) {
    (void)arg;
    while (!over) {
        CHECK_EQ(fin_sleep(1), 0);
        woken++;
    }
}

// Goes on for `rounds` steps beside them, of which each is to have had so many turns.
static void beside_others(const char *what, void (*step)(int), int rounds, int least) {
    over = false;
    turns = woken = 0;
    fin_finish {
        fin_async_call(counts_turns, NULL);
        fin_async_call(wakes, NULL);
        for (int i = 0; i < rounds; i++)
            step(i);
        over = true;
    }
    if (turns < least || woken < 2)
        fprintf(stderr, "%s: %d turns, %d times woken\n", what, turns, woken);
    CHECK(turns >= least && woken >= 2);
}

#endif
