// SPDX-License-Identifier: BSD-2-Clause
// What the scenarios need in which there is memory for one more AWE without a stack.
#ifndef FIN_TESTS_CHAN_ONE_RECORD_H
#define FIN_TESTS_CHAN_ONE_RECORD_H

#include "cont/memory.h"

static struct fin_awe *one_record;

static inline void blocks(void *state, int result) {
    if (result < 0)
        fin_cont_end();
    fin_block_on(blocks, state, 0);
}

static inline void ends(void *state, int result) {
    (void)state;
    (void)result;
    fin_cont_end();
}

static inline void has_the_one(void *state, int result) {
    (void)result;
    one_record = fin_awe_self();
    fin_block_on(ends, state, 0);
}

static inline void let_all_run(void) {
    for (int i = 0; i < 10; i++)
        fin_yield();
}

// In a finish block in which has_the_one has been begun. All records are taken, and that one is given back.
static inline void leave_one_record(void) {
    limit_memory();
    while (fin_cont_start_(NULL, blocks, NULL, 0)) { // in the block around
    }
    let_all_run();
    CHECK_EQ(fin_schedule(one_record), 0);
    let_all_run();
}

#endif
