// SPDX-License-Identifier: BSD-2-Clause
// Explicit AWEs: they run in their turn, keep their state, wait without a stack, and their finish block waits for them.
#include <string.h>

#include <fin.h>

#include "check.h"

struct state {
    long number, left;
    char full[FIN_CONT_STATE - 2 * sizeof(long)];
};

static struct fin_awe *waiting[3];

static void count_down(void *p, int result) {
    struct state s = *(struct state *)p;
    CHECK_EQ(result, 0);
    CHECK(strcmp(s.full, "to the last byte of it") == 0);
    LOG("%ld.%ld ", s.number, s.left);
    if (s.left == 0)
        fin_cont_end();
    s.left--;
    waiting[s.number] = fin_awe_self();
    CHECK(fin_cont_of(fin_awe_self()) == count_down);
    fin_block_on(count_down, &s, sizeof s);
    CHECK(false);
}

static void wake_them(void) {
    for (int i = 0; i < 3; i++)
        CHECK_EQ(fin_schedule(waiting[i]), 0);
    CHECK_EQ(fin_schedule(waiting[0]), -EALREADY);
}

static void rounds(void) {
    fin_finish {
        for (long i = 0; i < 3; i++) {
            struct state s = {.number = i, .left = 2, .full = "to the last byte of it"};
            struct fin_awe *a = fin_async_cont(count_down, &s, sizeof s);
            CHECK(a != NULL);
            CHECK(fin_cont_of(a) == count_down && ((struct state *)fin_cont_state(a))->number == i);
        }
        LOG("made ");
        fin_yield();
        LOG("back ");
        struct fin_stats stats;
        fin_stats(&stats);
        CHECK_EQ(stats.stacks_used, 1); // the scheduler's
        wake_them();
        fin_yield();
        ((struct state *)fin_cont_state(waiting[1]))->left = 7; // may be changed while it waits
        ((struct state *)fin_cont_state(waiting[1]))->left = 0;
        wake_them();
        LOG("end ");
    }
    CHECK_LOG("made 0.2 1.2 2.2 back 0.1 1.1 2.1 end 0.0 1.0 2.0 ");
    CHECK_EQ(fin_cont_of(waiting[0]) != NULL, 0);
}

// State is optional, and what lies in it may be handed on in place.
static void in_place(void *p, int result) {
    (void)result;
    long *n = p;
    if (++*n == 5) {
        LOG("five ");
        fin_cont_end();
    }
    fin_yield_on(in_place, n, sizeof *n);
}

static void nothing(void *p, int result) {
    (void)p;
    LOG("nothing%d ", result);
    fin_cont_end();
}

// One that ends gives its stack to the next, which may be of another block: its own block ends all the same.
static bool stop;
static void turns(void *state, int result) {
    CHECK_EQ(result, 0);
    if (stop)
        fin_cont_end();
    fin_yield_on(turns, state, 0);
}
static void ends(void *state, int result) {
    CHECK_EQ(result, 0);
    ++**(int **)state;
    fin_cont_end();
}
static void blocks_of_those_that_end(void) {
    int ended = 0, *p = &ended;
    fin_finish {
        CHECK(fin_async_cont(turns, NULL, 0) != NULL);
        for (int i = 1; i <= 50; i++) {
            fin_finish {
                for (int k = 0; k < i % 3 + 1; k++)
                    CHECK(fin_async_cont(ends, &p, sizeof p) != NULL);
            }
        }
        stop = true;
    }
    CHECK_EQ(ended, 101);
}

int main(void) {
    blocks_of_those_that_end();
    CHECK(fin_awe_self() == NULL);
    rounds();
    check_log[0] = 0;
    fin_finish {
        long zero = 0;
        CHECK(fin_async_cont(in_place, &zero, sizeof zero) != NULL);
        CHECK(fin_async_cont(nothing, NULL, 0) != NULL);
        char large[FIN_CONT_STATE + 1] = "";
        CHECK(fin_async_cont(nothing, large, sizeof large) == NULL);
        CHECK(fin_async_cont(NULL, NULL, 0) == NULL);
    }
    CHECK_LOG("nothing0 five ");
    return 0;
}
