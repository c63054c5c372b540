// SPDX-License-Identifier: BSD-2-Clause
// What is compared with what, the targets, the published figures.
#include "rows.h"

#define NO_BOOST "built without Boost.Context (libboost-context-dev)"

void table_async(void) {
    enum { N = 100000 };
    struct bench_row rows[] = {
        {"plain indirect call", async_plain, N, "8"},
        {"fin_async_call", async_call, N, "10-44", .base = 1, .times = 1.5},
        {"fin_async, body in place (C)", async_nested, N, "10-44", .base = 1, .times = 1.5},
        {"fin_async, lambda (C++)", async_lambda, N, "10-44", .base = 1, .times = 1.5},
        {"fin_async_eager_call", async_eager_call, N, "120", .base = 1, .times = 4},
        {"fin_async_eager, body in place (C)", async_eager_nested, N, "120", .base = 1, .times = 4},
        {"fin_async_eager, lambda (C++)", async_eager_lambda, N, "120", .base = 1, .times = 4},
    };
    bench_table("async", "An async that does not block: cycles", "cycles", rows, BENCH_COUNT(rows));
}

void table_create(void) {
    enum { N = 10000 };
    struct bench_row rows[] = {
        {"fin_async_call", create_call, N, "245-269", .at_most = 70},
        {"fin_async, body in place (C)", create_nested, N, "245-269", .at_most = 70},
        {"fin_async, lambda (C++)", create_lambda, N, "245-269", .at_most = 70},
        {"fin_async_eager_call", create_eager_call, N, "247-330", .at_most = 70},
        {"C++20 coroutine, pooled frame", coroutine_create, N, "43"},
        {"Boost fcontext: create, two switches, destroy", fcontext_create_2, N, "68"},
        {"Boost fcontext: create, four switches, destroy", fcontext_create_4, N},
    };
    size_t boost = have_fcontext ? 0 : 2;
    bench_table("create", "finish + async + one yield + completion: cycles", "cycles", rows, BENCH_COUNT(rows) - boost);
    if (boost)
        bench_skip("Boost fcontext", NO_BOOST);
}

void table_switch(void) {
    enum { N = 50000 };
    struct bench_row rows[] = {
        {"minimal switch", minimal_two, N, "8-10"},
        {"fin_yield_to_id_and_save_no_dispatch", switch_no_dispatch, N, "71-80", .base = 1, .times = 1.5},
        {"fin_yield_to_id_and_save", switch_yield_to_id_and_save, N, "83-95", .base = 1, .times = 1.5},
        {"fin_yield_to_id, back by no_dispatch", switch_yield_to_id, N, NULL, .base = 1, .times = 1.5},
        {"fin_yield_to, back by fin_suspend", switch_yield_to, N, NULL, .base = 1, .times = 1.5},
        {"fin_yield, round-robin", switch_yield, N, "71-95", .base = 1, .times = 2.5},
        {"Boost fcontext", fcontext_two, N, "17", .base = 1},
    };
    size_t boost = have_fcontext ? 0 : 1;
    bench_table("switch", "Switch between two AWEs: cycles", "cycles", rows, BENCH_COUNT(rows) - boost);
    if (boost)
        bench_skip("Boost fcontext", NO_BOOST);
}
