// SPDX-License-Identifier: BSD-2-Clause
// AWEs that hand their stack to one another, or find each time that they need not wait, do not keep a timeout, or others,
// from them.
#include <fin.h>

#include "check.h"

static struct fin_awe *client, *server;
static long calls, passes, turns;
static struct fin_sem free_to_pass = FIN_SEM_INIT(1);
static struct fin_sync_on place;

static void serves(void *p, int result) {
    (void)p;
    server = fin_awe_self();
    if (result < 0)
        fin_cont_end();
    fin_block_on(serves, NULL, 0);
}

static void answered(void *p, int result) {
    (void)p;
    (void)result;
    CHECK(false); // recognized each time
}

static void calls_for_ever(void *p, int result) {
    (void)p;
    (void)result;
    client = fin_awe_self();
    while (!fin_cancelled()) {
        CHECK_EQ(fin_thread_handoff_if(serves, answered, NULL, 0, server), 0);
        calls++;
        CHECK_EQ(fin_thread_handoff_if(answered, serves, NULL, 0, client), 0);
    }
    fin_cont_end();
}

static void passes_for_ever(void *p, int result) {
    if (result < 0)
        fin_cont_end();
    passes++;
    fin_sem_post(&free_to_pass);
    fin_sem_wait_on(&free_to_pass, &place, passes_for_ever, p, 0);
}

static void begins_to_pass(void *p, int result) {
    (void)result;
    fin_sem_wait_on(&free_to_pass, &place, passes_for_ever, p, 0);
}

int main(void) {
    while (calls == 0) { // a slow machine may need more than one
        fin_timeout(5 * FIN_MS) {
            fin_async_cont(serves, NULL, 0);
            fin_yield();
            fin_async_cont(calls_for_ever, NULL, 0);
        }
    }
    while (passes == 0 || turns < 2) {
        fin_timeout(5 * FIN_MS) {
            fin_async_cont(begins_to_pass, NULL, 0);
            while (!fin_cancelled()) {
                turns++;
                fin_yield();
            }
        }
    }
    fprintf(stderr, "%ld calls, %ld passes, %ld turns\n", calls, passes, turns);
    return 0;
}
