// SPDX-License-Identifier: BSD-2-Clause
// Hazard: a variable-length array in a finish block lives on whichever stack is current. The program is stopped, with a
// reason, before anything runs on a spoilt stack.
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

static void yields(void *arg) {
    (void)arg;
    fin_yield();
}

// the array is needed until here; what it holds is lost already
#define USE(array) __asm__ volatile("" : : "r"(array) : "memory")

static void __attribute__((noinline)) array_in_loop(int n) {
    fin_finish {
        for (int i = 0; i < 3; i++) {
            volatile char array[n];
            array[0] = 1;
            fin_async_call(yields, NULL);
            USE(array);
        }
    }
}

static void __attribute__((noinline)) array_before_the_end(int n) {
    fin_finish {
        {
            volatile char array[n];
            array[n - 1] = 1;
            fin_async_call(yields, NULL);
            USE(array);
        }
    }
}

// Between two asyncs such an array does no harm, nor does alloca in a function that is inlined.
static inline __attribute__((always_inline)) int inlined(int n, int value) {
    volatile char *p = __builtin_alloca((size_t)n);
    p[n - 1] = (char)value;
    return p[n - 1];
}

static void __attribute__((noinline)) between(int n) {
    int sum = 0;
    fin_finish {
        for (int i = 0; i < 4; i++) {
            {
                volatile char array[n];
                array[n - 1] = (char)i;
                sum += array[n - 1];
            }
            fin_async_call(yields, NULL);
            sum += inlined(n, i);
        }
    }
    CHECK_EQ(sum, 12);
}

static void report_of(void (*fn)(int), char *text, size_t size, int *status) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], 2);
        fn(100);
        _Exit(0);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t r; n < size - 1 && (r = read(ends[0], text + n, size - 1 - n)) > 0;)
        n += (size_t)r;
    text[n] = 0;
    close(ends[0]);
    CHECK(waitpid(child, status, 0) == child);
}

int main(void) {
#if FIN_SANITIZED
    SKIP("every async is eager under a sanitizer: the hazard is not there");
#endif
    for (int i = 0; i < 100; i++)
        between(100);
    void (*cases[])(int) = {array_in_loop, array_before_the_end};
    for (int i = 0; i < 2; i++) {
        char text[1000];
        int status;
        report_of(cases[i], text, sizeof text, &status);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        CHECK(strstr(text, "variable-length array"));
    }
    return 0;
}
