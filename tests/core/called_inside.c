// SPDX-License-Identifier: BSD-2-Clause
// A function inside a function has an async of the outer finish block, and is called in an inner one: compiled into its
// caller or not, the async belongs to the block that it is written in.
#include <fin.h>

#include "check.h"

static int outer, inner;
static struct fin_event go; // keeps the outer ones waiting

static FIN_BLOCKING void waits(void *n) {
    fin_event_await_nc(&go, 1);
    ++*(int *)n;
}

static FIN_BLOCKING void yields(void *n) {
    fin_yield();
    ++*(int *)n;
}

#ifdef __clang__
#define FUNCTION(name, how, ...) void (^name)(void) = ^{ __VA_ARGS__ }
#else
#define FUNCTION(name, how, ...) how void name(void) { __VA_ARGS__ }
#endif
#define INLINED inline __attribute__((always_inline))
#define APART __attribute__((noinline))

#define SCENARIO(name, how, ...)                                                                                      \
    static __attribute__((noinline)) FIN_BLOCKING void name(void) {                                                   \
        outer = inner = 0;                                                                                            \
        fin_event_init(&go);                                                                                          \
        fin_finish {                                                                                                  \
            FUNCTION(start, how, __VA_ARGS__);                                                                        \
            fin_finish {                                                                                              \
                fin_async_call(yields, &inner);                                                                       \
                start();                                                                                              \
                start();                                                                                              \
                fin_async_call(yields, &inner);                                                                       \
            }                                                                                                         \
            CHECK_EQ(inner, 2);                                                                                       \
            CHECK_EQ(outer, 0);                                                                                       \
            fin_event_advance(&go, 1);                                                                                 \
        }                                                                                                             \
        CHECK_EQ(outer, 2);                                                                                           \
    }

SCENARIO(lazy_inlined, INLINED, fin_async_call(waits, &outer);)
SCENARIO(lazy_apart, APART, fin_async_call(waits, &outer);)
SCENARIO(eager_inlined, INLINED, fin_async_eager_call(waits, &outer);)
SCENARIO(eager_apart, APART, fin_async_eager_call(waits, &outer);)
#ifndef __clang__
SCENARIO(body_inlined, INLINED, fin_async { waits(&outer); };)
SCENARIO(body_apart, APART, fin_async { waits(&outer); };)
SCENARIO(eager_body_inlined, INLINED, fin_async_eager { waits(&outer); };)
#endif

int main(void) {
    lazy_inlined();
    lazy_apart();
    eager_inlined();
    eager_apart();
#ifndef __clang__
    body_inlined();
    body_apart();
    eager_body_inlined();
#endif
    return 0;
}
