// SPDX-License-Identifier: BSD-2-Clause
// Calls that are answered in their order, in the opposite one, at random, and by whoever comes first; waited for by as many
// AWEs, or by one in another order than the answers come in: then they are kept.
#include "rpc.h"

enum { CALLS = 100 }; // more than the table begins with

static unsigned seed = 5, answered;

static void asks(void *number) {
    CHECK_EQ(ask((uint64_t)(uintptr_t)number), 8);
    answered++;
}

// Takes all requests, then answers them.
static void answer_all(void *step) {
    uint32_t ids[CALLS];
    uint64_t xs[CALLS];
    int by = *(int *)step;
    for (int i = 0; i < CALLS; i++)
        ids[i] = next_request(&xs[i]);
    for (int i = 0; i < CALLS; i++) {
        int at = by > 0 ? i * by % CALLS : CALLS - 1 - i;
        reply_to(ids[at], xs[at]);
        if (next_random(&seed) % 4 == 0)
            fin_yield();
    }
}

static void many_wait(int step) {
    answered = 0;
    fin_finish {
        fin_async_call(answer_all, &step);
        for (uintptr_t i = 0; i < CALLS; i++)
            fin_async_call(asks, (void *)i);
    }
    CHECK_EQ(answered, CALLS);
}

// In reverse, so that nearly all of them are there before anybody waits.
static void one_waits(int step) {
    uint32_t ids[CALLS];
    fin_finish {
        fin_async_call(answer_all, &step);
        for (uint64_t i = 0; i < CALLS; i++)
            CHECK_EQ(fin_rpc_send(caller, &i, sizeof i, &ids[i]), 0);
        for (int i = CALLS - 1; i >= 0; i--) {
            uint64_t y = 0;
            CHECK_EQ(fin_rpc_recv(caller, ids[i], &y, sizeof y), sizeof y);
            CHECK_EQ(y, answer_to((uint64_t)i));
            CHECK_EQ(fin_rpc_recv(caller, ids[i], &y, sizeof y), -ESRCH);
        }
    }
}

// Several AWEs take requests from one end, and answer each at once.
static void first_come(void *unused) {
    (void)unused;
    for (int i = 0; i < CALLS / 5; i++) {
        uint64_t x;
        uint32_t id = next_request(&x);
        if (next_random(&seed) % 2)
            fin_yield();
        reply_to(id, x);
    }
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        open_rpc(kind);
        for (int step = -1; step < 4; step += step < 1 ? 2 : 1) // 100 calls: -1, 1, and 3 which goes around
            if (step != 2) {
                many_wait(step);
                one_waits(step);
            }
        answered = 0;
        fin_finish {
            for (int i = 0; i < 5; i++)
                fin_async_call(first_come, NULL);
            for (uintptr_t i = 0; i < CALLS; i++)
                fin_async_call(asks, (void *)i);
        }
        CHECK_EQ(answered, CALLS);
        CHECK_EQ(fin_rpc_strays(caller), 0);
        close_rpc();
    }
    return 0;
}
