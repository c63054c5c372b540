// SPDX-License-Identifier: BSD-2-Clause
// FIN_STACK_SIZE is a number of bytes, or the program is told that it is none. If it is not set the program says how large
// stacks are, of threads that begin from then on: more is there for use, and when less is used up a report says how much.
#include <fin.h>

#include "process.h"

static const char *value;

static void uses_a_stack(void) {
    setenv("FIN_STACK_SIZE", value, 1);
    fin_finish {
        fin_yield();
    }
}

static void runs_well(void (*fn)(void)) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        fn();
        _Exit(0);
    }
    ended_well(child);
}

static void in_the_environment(void) {
    static const char *const bad[] = {"", " 65536", "-1", "+1", "64k", "99999999999999999999", "1073741825"};
    static const char *const good[] = {"0", "65536", "0x10000", "100000"};
    char text[1000];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        value = bad[i];
        CHECK_EQ(killed_by(uses_a_stack, text, sizeof text), SIGABRT);
        CHECK(strstr(text, "FIN_STACK_SIZE is not a number of bytes"));
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        value = good[i];
        runs_well(uses_a_stack);
    }
}

static size_t said, used;

static int __attribute__((noinline)) uses(size_t bytes) {
    volatile char some[1024];
    some[bytes % sizeof some] = 1;
    return bytes < sizeof some ? 0 : uses(bytes - sizeof some) + some[bytes % sizeof some];
}

static void in_a_body(void *unused) {
    (void)unused;
    fin_yield();
    uses(used);
}

static void in_a_thread(void *unused) {
    (void)unused;
    fin_finish {
        fin_async_eager_call(in_a_body, NULL);
    }
}

static void said_and_used(void) {
    struct fin_thread_handle t;
    CHECK_EQ(fin_set_stack_size(said), 0);
    CHECK_EQ(fin_thread_start(&t, in_a_thread, NULL), 0);
    fin_thread_join_nc(&t);
}

static void is_enough(size_t bytes, size_t depth) {
    said = bytes;
    used = depth;
    runs_well(said_and_used);
}

static void is_too_little(size_t bytes, size_t depth, const char *report) {
    char text[1000];
    said = bytes;
    used = depth;
    CHECK_EQ(killed_by(said_and_used, text, sizeof text), SIGSEGV);
    CHECK(strstr(text, report));
}

static void by_the_program(void) {
    CHECK_EQ(fin_set_stack_size(((size_t)1 << 30) + 1), -EINVAL);
    CHECK_EQ(fin_set_stack_size(SIZE_MAX), -EINVAL);
    is_enough(1 << 20, 600 << 10);
    is_enough(0, 20 << 10);
    if (ON_ASAN || ON_TSAN) { // there is no less than 64 KiB, and they report what is too little
        is_enough(1, 20 << 10);
        return;
    }
    is_enough(1, 5 << 10);
    is_too_little(0, 600 << 10, "its 64 KiB are used up");
    if (sysconf(_SC_PAGESIZE) == 4096)
        is_too_little(1, 20 << 10, "its 16 KiB are used up");
}

int main(void) {
    in_the_environment();
    by_the_program();
    return 0;
}
