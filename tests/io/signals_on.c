// SPDX-License-Identifier: BSD-2-Clause
// Signals awaited with continuations: each goes to one of those who wait, without a stack, beside such as wait with one. Who
// looks at the AWE sees the program's continuation. A set that is closed, or the parent's, has none.
#include <signal.h>

#include "net.h"

enum { WAITERS = 4, ROUNDS = 300 };

struct listener {
    struct fin_more_on on;
    struct fin_signal_info info;
    int got, result;
};

static struct fin_signals set;
static struct listener all[WAITERS];
static int seen, numbers[ROUNDS];

static void next(void *state, int result) {
    struct listener *l = *(struct listener **)state;
    l->result = result;
    if (result != 0)
        fin_cont_end();
    if (l->info.signal == SIGRTMIN + 1)
        numbers[l->info.value]++;
    l->got++;
    seen++;
    fin_signals_next_on(&set, &l->info, &l->on, next, &l, sizeof l);
    CHECK(false);
}

static void begin(void *state, int unused) {
    struct listener *l = *(struct listener **)state;
    (void)unused;
    fin_signals_next_on(&set, &l->info, &l->on, next, &l, sizeof l);
    CHECK(false);
}

static void until(int n) {
    while (seen < n)
        CHECK_EQ(fin_sleep(FIN_MS / 10), 0);
}

static void together(void) {
    struct fin_stats s;
    fin_finish {
        struct fin_awe *first = NULL;
        for (int i = 0; i < WAITERS; i++) {
            struct listener *l = &all[i];
            struct fin_awe *a = fin_async_cont(begin, &l, sizeof l);
            CHECK(a != NULL);
            first = first ? first : a;
        }
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_stats(&s);
        CHECK_EQ(s.stacks_used, 1);
        CHECK(fin_cont_of(first) == next);
        CHECK(*(struct listener **)fin_cont_state(first) == &all[0]);
        CHECK_EQ(fin_cont_set(first, begin, NULL, 0), -EINVAL); // it is in the midst of a wait of the library's
        for (int i = 0; i < ROUNDS; i++) {
            CHECK_EQ(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_ptr = (void *)(intptr_t)i}), 0);
            if (i % 50 == 49)
                until(i);
        }
        until(ROUNDS);
        for (int i = 0; i < 20; i++) { // one that has been read can come again
            CHECK_EQ(raise(SIGUSR1), 0);
            until(ROUNDS + i + 1);
        }
        fin_cancel();
    }
    for (int i = 0; i < ROUNDS; i++)
        CHECK_EQ(numbers[i], 1);
    for (int i = 0; i < WAITERS; i++)
        CHECK_EQ(all[i].result, -ECANCELED);
    CHECK_EQ(seen, ROUNDS + 20);
    CHECK_EQ(fin_signals_lost(&set), 0);
    struct fin_signal_info info; // none is left
    fin_timeout(10 * FIN_MS) {
        CHECK_EQ(fin_signals_next(&set, &info), -ECANCELED);
    }
}

// One with a stack and one without; each is told once.
static void both_ways(void) {
    struct listener *l = &all[0];
    fin_shared int with_stack = 0;
    l->got = 0;
    fin_finish {
        CHECK(fin_async_cont(begin, &l, sizeof l) != NULL);
        fin_async {
            struct fin_signal_info info;
            while (fin_signals_next(&set, &info) == 0)
                with_stack++;
        };
        for (int i = 0; i < 40; i++) {
            CHECK_EQ(raise(SIGUSR1), 0);
            while (l->got + with_stack < i + 1)
                CHECK_EQ(fin_sleep(FIN_MS / 10), 0);
        }
        fin_cancel();
    }
    CHECK_EQ(l->got + with_stack, 40);
}

static void never(void *state, int result) {
    (void)state, (void)result;
    CHECK(false);
}

static void refused(void *state, int unused) {
    char much[FIN_CONT_STATE + 1] = "";
    (void)state, (void)unused;
    CHECK_EQ(fin_signals_next_on(&set, &all[0].info, &all[0].on, never, much, sizeof much), -E2BIG);
    CHECK_EQ(fin_signals_next_on(&set, &all[0].info, &all[0].on, NULL, NULL, 0), -EINVAL);
    fin_finish {
        CHECK_EQ(fin_signals_next_on(&set, &all[0].info, &all[0].on, never, NULL, 0), -EBUSY);
    }
    fin_cont_end();
}

static void has_none(void *unused) {
    struct listener *l = &all[0];
    (void)unused;
    l->result = 0;
    fin_finish {
        CHECK(fin_async_cont(begin, &l, sizeof l) != NULL);
    }
    CHECK_EQ(l->result, -EBADF);
}

int main(void) {
    sigset_t s;
    int status;
    sigemptyset(&s);
    sigaddset(&s, SIGRTMIN + 1);
    sigaddset(&s, SIGUSR1);
    CHECK_EQ(fin_signals_open(&set, &s), 0);
    CHECK_EQ(fin_signals_next_on(&set, &all[0].info, &all[0].on, never, NULL, 0), -EINVAL); // not an AWE that could
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        has_none(NULL);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    together();
    both_ways();
    fin_finish {
        CHECK(fin_async_cont(refused, NULL, 0) != NULL);
    }
    fin_signals_close(&set);
    has_none(NULL);
    return 0;
}
