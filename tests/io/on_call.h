// SPDX-License-Identifier: BSD-2-Clause
// Calls with a continuation, one at a time: what each came to.
#ifndef FIN_TESTS_IO_ON_CALL_H
#define FIN_TESTS_IO_ON_CALL_H

#include <fin/on.h>

#include "net.h"

static struct fin_on on;
static int result;

static void ended(void *state, int r) {
    (void)state;
    result = r;
    fin_cont_end();
}

// An AWE's first step that makes the call, and is not refused.
#define CALL(name, call)                                                                                                    \
    static void name(void *state, int unused) {                                                                             \
        (void)state, (void)unused;                                                                                          \
        call;                                                                                                               \
        CHECK(false);                                                                                                       \
    }
#define REST ended, NULL, 0

static int run(fin_cont *cont) {
    result = -EINPROGRESS;
    fin_finish {
        CHECK(fin_async_cont(cont, NULL, 0) != NULL);
    }
    return result;
}

#endif
