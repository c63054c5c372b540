// SPDX-License-Identifier: BSD-2-Clause
// A thread ends while AWEs wait with continuations: their memory goes with it. A program may end so, too, and what only
// their states point to is no leak.
#include <stdlib.h>
#include <string.h>

#include <fin.h>

#include "check.h"

static void never(void *state, int result) {
    (void)state;
    (void)result;
    CHECK(false);
}

static void waits(void *state, int result) {
    CHECK_EQ(result, 0);
    CHECK_EQ(fin_block_on(never, state, sizeof(void *)), 0);
}

static void leaves(void *arg) {
    static struct fin_finish_block block; // that nobody waits for
    fin_finish_enter_(&block, 0);
    for (int i = 0; i < 1000; i++)
        CHECK(fin_cont_start_(&block, waits, &arg, sizeof arg) != NULL);
    fin_yield();
}

int main(void) {
    for (int i = 0; i < 3; i++) {
        struct fin_thread_handle t;
        CHECK_EQ(fin_thread_start(&t, leaves, NULL), 0);
        fin_thread_join_nc(&t);
    }
    leaves(malloc(100)); // for valgrind and LeakSanitizer
    return 0;
}
