// SPDX-License-Identifier: BSD-2-Clause
// Reports name who works on a request by the program's function, not by the library's that has started it.
#include <fin.h>
#include <fin/rpc_on.h>

#include "stuck.h"

static struct fin_rpc *rpc[2];
static struct fin_rpc_on on;
static char byte;
static volatile int *volatile nowhere;
static struct fin_awe *works;

static void open_rpc(void) {
    struct fin_chan *ends[2];
    CHECK_EQ(fin_chan_pair(&ends[0], &ends[1], NULL), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(fin_rpc_open(&rpc[i], ends[i], 0), 0);
}

static void works_on(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *unused) {
    (void)r, (void)id, (void)request, (void)size, (void)unused;
    fin_suspend(&works);
}

static void crashes_on(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *unused) {
    (void)r, (void)id, (void)request, (void)size, (void)unused;
    *nowhere = 1;
}

static void calls(void *r) { fin_rpc_call(r, &byte, 1, &byte, 1); }

static void serves(void *r) { fin_rpc_serve(r, works_on, NULL); }

static void serves_crash(void *r) { fin_rpc_serve(r, crashes_on, NULL); }

static void over(void *state, int result) { (void)state, (void)result; }

static void serves_without_a_stack(void *state, int result) {
    (void)state, (void)result;
    fin_rpc_serve_on(rpc[1], works_on, NULL, &on, over, NULL, 0);
}

static void with_stacks(void) {
    open_rpc();
    fin_finish {
        fin_async_call(serves, rpc[1]);
        fin_async_call(calls, rpc[0]);
    }
}

static void in_a_crash(void) {
    open_rpc();
    fin_finish {
        fin_async_call(serves_crash, rpc[1]);
        fin_async_call(calls, rpc[0]);
    }
}

static void without_stacks(void) {
    open_rpc();
    fin_finish {
        fin_async_cont(serves_without_a_stack, NULL, 0);
        fin_async_call(calls, rpc[0]);
    }
}

static struct scenario scenarios[] = {
    {.run = with_stacks, .said = {"nothing can wake process", ", entry works_on, "}},
    {.run = without_stacks, .said = {"nothing can wake process", ", continuation works_on, "}},
    {.run = in_a_crash, .said = {", entry crashes_on"}}, // a sanitizer reports crashes itself
};

int main(void) {
    run_scenarios(scenarios, sizeof scenarios / sizeof *scenarios - (ON_ASAN || ON_TSAN));
    return 0;
}
