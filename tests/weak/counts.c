// SPDX-License-Identifier: BSD-2-Clause
// Three threads with a semaphore, an event count, a sequencer and a queue of turns.
#include <sched.h>

#include <fin.h>

#include "weak.h"

static struct fin_sem full = FIN_SEM_INIT(0), room = FIN_SEM_INIT(2);
static struct fin_event now_serving = FIN_EVENT_INIT;
static struct fin_seq tickets = FIN_SEQ_INIT;
static struct fin_queue queue = FIN_QUEUE_INIT;
static struct fin_mutex mutex = FIN_MUTEX_INIT;
static int buffer[2], put, got, sum, by_ticket, by_turn;

static struct fin_event written = FIN_EVENT_INIT;
static struct fin_seq order = FIN_SEQ_INIT;
static uint64_t before;
static int in_event, in_order[3];

enum { ITEMS = 6 };

static FIN_BLOCKING void puts_one(int n) {
    fin_sem_wait_nc(&room);
    fin_mutex_lock_nc(&mutex);
    buffer[put++ % 2] = n;
    fin_mutex_unlock(&mutex);
    fin_sem_post(&full);
}

static FIN_BLOCKING void takes_one(void) {
    fin_sem_wait_nc(&full);
    sum += buffer[got++ % 2];
    fin_sem_post(&room);
}

static FIN_BLOCKING void has_ticket(void) {
    uint64_t mine = fin_seq_ticket(&tickets);
    fin_event_await_nc(&now_serving, mine);
    by_ticket++;
    fin_event_advance(&now_serving, 1);
}

static FIN_BLOCKING void has_turn(void) {
    struct fin_queue_entry e;
    fin_queue_enter(&queue, &e);
    fin_queue_await_turn_nc(&queue, &e);
    by_turn++;
    fin_queue_leave(&queue, &e);
}

// Who only looks at the count, or has a later ticket, knows what the others wrote before.
static FIN_BLOCKING void looks(int i) {
    if (i == 0) {
        in_event = 1;
        fin_event_advance(&written, 1);
    } else {
        while (fin_event_read(&written) == before)
            sched_yield();
        WEAK_CHECK(in_event == 1);
    }
    in_order[i] = 1;
    uint64_t mine = fin_seq_ticket(&order) - before * 3;
    if (mine == 2)
        WEAK_CHECK(in_order[0] + in_order[1] + in_order[2] == 3);
}

static FIN_BLOCKING void thread(int i) {
    looks(i);
    fin_finish {
        fin_async { has_ticket(); };
        fin_async { has_turn(); };
        if (i < 2)
            for (int n = i * ITEMS / 2; n < (i + 1) * ITEMS / 2; n++)
                puts_one(n);
        else
            for (int n = 0; n < ITEMS; n++)
                takes_one();
    }
}

static void begin(void) {
    put = got = sum = by_ticket = by_turn = in_event = 0;
    before = fin_event_read(&written);
    in_order[0] = in_order[1] = in_order[2] = 0;
}

static void end(void) { WEAK_CHECK(sum == ITEMS * (ITEMS - 1) / 2 && by_ticket == 3 && by_turn == 3 && got == ITEMS); }

const struct weak_scenario weak_scenario = {3, NULL, begin, thread, end};
