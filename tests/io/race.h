// SPDX-License-Identifier: BSD-2-Clause
// Operations raced against cancellation, a table of them at a time: what each said is compared with what happened.
// FIN_RACES=1000000 in the environment asks for so many races of the table in all; an argument, for those of one row.
#ifndef FIN_TESTS_IO_RACE_H
#define FIN_TESTS_IO_RACE_H

#include "net.h"

struct race {
    const char *name;
    void (*open)(void);
    void (*other)(void); // what the operation waits for, at a random moment
    void (*operation)(void);
    void (*check)(void); // after each race; of a wait without a stack: the outcome
    void (*close)(void);
    int fewer; // so many times as few races as the others have, where it is slow
};

static unsigned seed = 11;
static int done, cancelled; // of a row
static long all_done, all_cancelled;

static inline bool outcome(ssize_t n) {
    ++*(n == -ECANCELED ? &cancelled : &done);
    return n != -ECANCELED;
}

static inline void nothing(void) {}

static inline void pause_a_little(unsigned most) {
    for (unsigned n = next_random(&seed) % most; n; n--)
        fin_yield();
    unsigned n = next_random(&seed) % 32;
    if (n < 9)
        CHECK_EQ(fin_sleep_nc(n ? 1 : 30000), 0);
}

static inline void race_other(void *race) {
    pause_a_little(8);
    ((const struct race *)race)->other();
}

static inline void race_operation(void *race) { ((const struct race *)race)->operation(); }

// Half of the cancels come after a pause that becomes longer with each operation that is cancelled and shorter with each
// that is done: they come when it ends, on any machine.
static inline void pause_before_cancel(uint64_t aim) {
    if (next_random(&seed) % 2)
        pause_a_little(8);
    else
        CHECK_EQ(fin_sleep_nc(next_random(&seed) % aim), 0);
}

static inline void race_run(const struct race *race, long rounds) {
    uint64_t aim = 2000;
    done = cancelled = 0;
    race->open();
    for (long i = 0; i < rounds; i++) {
        int before = done;
        fin_finish {
            fin_async_call(race_other, (void *)race);
            fin_finish {
                fin_async_call(race_operation, (void *)race);
                pause_before_cancel(aim);
                fin_cancel();
            }
        }
        race->check();
        aim = done != before ? aim - aim / 16 : aim + aim / 16;
        aim = aim < 100 ? 100 : aim > 400000 ? 400000 : aim;
    }
    race->close();
    CHECK_EQ(done + cancelled, rounds);
    all_done += done;
    all_cancelled += cancelled;
    if (getenv("FIN_RACES") && rounds > 1)
        printf("%-22s %9d done %9d cancelled\n", race->name, done, cancelled);
}

// Each once, so that what is made for the first only is there, then often. No descriptor is lost.
static inline void race_all(const struct race *races, int count, const char *only) {
    long all = getenv("FIN_RACES") ? atol(getenv("FIN_RACES")) : (getenv("FIN_FEW") ? 50 : 300) * (long)count;
    int before = 0;
    for (int warm = 1; warm >= 0; warm--) {
        for (const struct race *r = races; r < races + count; r++)
            if (!only || strcmp(only, r->name) == 0)
                race_run(r, warm ? 1 : all / count / r->fewer + 1);
        if (warm)
            before = open_descriptors();
    }
    CHECK_EQ(open_descriptors(), before);
    CHECK(all_done > 0);
    CHECK(all_cancelled > 0);
}

#endif
