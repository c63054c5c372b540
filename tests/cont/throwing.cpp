// SPDX-License-Identifier: BSD-2-Clause
// An exception that leaves a function at which a thread, a job of the pool or a step begins finds no catch clause: it ends
// the program, by std::terminate.
#include <fin.hpp>

#include "process.h"

static void throws(void *) { throw 42; }
static void throws_on(void *, int) { throw 42; }

static void in_a_thread() {
    fin_thread_handle t;
    if (fin_thread_start(&t, throws, nullptr) == 0)
        fin_thread_join_nc(&t);
}

static void in_the_pool() { fin_offload(throws, nullptr); }

static void in_a_continuation() {
    fin_finish { fin_async_cont(throws_on, nullptr, 0); }
}

static void (*scenario)();

static void attempt() {
    try {
        scenario();
    } catch (...) {
        fprintf(stderr, "caught\n");
    }
    _Exit(1);
}

int main() {
    void (*const all[])() = {in_a_thread, in_the_pool, in_a_continuation};
    for (auto each : all) {
        char text[8192];
        scenario = each;
        CHECK_EQ(killed_by(attempt, text, sizeof text), SIGABRT);
        CHECK(strstr(text, "terminate called after throwing an instance of 'int'"));
    }
    return 0;
}
