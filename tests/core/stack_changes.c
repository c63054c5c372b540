// SPDX-License-Identifier: BSD-2-Clause
// Hazard: a variable-length array in a finish block lives on whichever stack is current. The program is stopped, with a
// reason, before anything runs on a spoilt stack.
#include <fin.h>

#include "process.h"

static void yields(void *arg) {
    (void)arg;
    fin_yield();
}

static volatile int length = 100; // which the compiler does not know

// the array is needed until here; what it holds is lost already
#define USE(array) __asm__ volatile("" : : "r"(array) : "memory")

static void __attribute__((noinline)) array_in_loop(void) {
    int n = length;
    fin_finish {
        for (int i = 0; i < 3; i++) {
            volatile char array[n];
            array[0] = 1;
            fin_async_call(yields, NULL);
            USE(array);
        }
    }
}

static void __attribute__((noinline)) array_before_the_end(void) {
    int n = length;
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

int main(void) {
#if FIN_SANITIZED
    SKIP("every async is eager under a sanitizer: the hazard is not there");
#endif
    for (int i = 0; i < 100; i++)
        between(length);
    void (*cases[])(void) = {array_in_loop, array_before_the_end};
    for (int i = 0; i < 2; i++) {
        char text[1000];
        CHECK_EQ(killed_by(cases[i], text, sizeof text), SIGABRT);
        CHECK(strstr(text, "variable-length array"));
    }
    return 0;
}
