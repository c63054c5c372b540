// SPDX-License-Identifier: BSD-2-Clause
// For programs that debuggers and fin-top look at: an AWE that waits with a continuation.
#ifndef FIN_TESTS_CORE_NO_STACK_H
#define FIN_TESTS_CORE_NO_STACK_H

#include <fin.h>

#include "check.h"

static struct fin_awe *without_a_stack;

static void goes_on(void *state, int result) {
    (void)state;
    CHECK_EQ(result, 0);
    fin_cont_end();
}

static void is_known(struct fin_awe *a, void *arg) {
    (void)arg;
    without_a_stack = a;
}

static void has_no_stack(void *arg) { fin_block_on_then(goes_on, "state", 5, is_known, arg); }

#endif
