// SPDX-License-Identifier: BSD-2-Clause
// Three threads with two AWEs each, which stand in line for a mutex, wait for a condition, and are cancelled.
#include <errno.h>

#include <fin.h>

#include "weak.h"

static struct fin_mutex mutex = FIN_MUTEX_INIT;
static struct fin_cond changed = FIN_COND_INIT;
static int inside, turns, tickets, taken, cancelled;

static FIN_BLOCKING void has_a_turn(void) {
    if (fin_mutex_lock(&mutex) != 0)
        return;
    WEAK_CHECK(inside++ == 0);
    turns++;
    if (turns % 2 == 0)
        fin_yield();
    inside--;
    fin_mutex_unlock(&mutex);
}

static FIN_BLOCKING void takes_ticket(void) {
    fin_mutex_lock_nc(&mutex);
    int r = 0;
    while (tickets == 0 && r == 0)
        r = fin_cond_wait(&changed, &mutex);
    if (tickets > 0) {
        tickets--;
        taken++;
    } else {
        cancelled += r == -ECANCELED;
    }
    fin_mutex_unlock(&mutex);
}

static FIN_BLOCKING void thread(int i) {
    fin_finish_as(all) {
        fin_async { has_a_turn(); };
        fin_async { takes_ticket(); };
        has_a_turn();
        fin_mutex_lock_nc(&mutex);
        tickets++;
        fin_mutex_unlock(&mutex);
        fin_cond_signal(&changed);
        if (i == 0)
            fin_cancel_as(all);
    }
}

static void begin(void) { inside = turns = tickets = taken = cancelled = 0; }

static void end(void) {
    WEAK_CHECK(inside == 0 && turns >= 4 && turns <= 6);
    WEAK_CHECK(taken + cancelled == 3 && taken + tickets == 3);
}

const struct weak_scenario weak_scenario = {3, NULL, begin, thread, end};
