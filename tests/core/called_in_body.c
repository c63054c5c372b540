// SPDX-License-Identifier: BSD-2-Clause
// A function inside an async body has asyncs of the body's finish block, and is called in a block that the body opens: the
// asyncs belong to the block that they are written in.
#include <fin.h>

#include "check.h"

static int ended, cancelled;

static FIN_BLOCKING void sleeps(void *unused) {
    (void)unused;
    cancelled += fin_sleep(FIN_MS) != 0;
    ended++;
}

#ifdef __clang__
#define FUNCTION(name, ...) void (^name)(void) = ^{ __VA_ARGS__ }
#else
#define FUNCTION(name, ...) void name(void) { __VA_ARGS__ }
#endif

static __attribute__((noinline)) FIN_BLOCKING void lazy(void) {
    fin_finish {
        fin_async {
            FUNCTION(start, fin_async_call(sleeps, NULL););
            fin_finish {
                start();
                fin_cancel();
            }
            CHECK_EQ(ended, 0);
        };
    }
}

static __attribute__((noinline)) FIN_BLOCKING void eager(void) {
    fin_finish {
        fin_async_eager {
            FUNCTION(start, fin_async_eager_call(sleeps, NULL););
            fin_finish {
                start();
                fin_cancel();
            }
            CHECK_EQ(ended, 1);
        };
    }
}

static __attribute__((noinline)) FIN_BLOCKING void in_place(void) {
    fin_timeout(FIN_S) {
        fin_async {
            FUNCTION(start, fin_async { sleeps(NULL); }; fin_async_eager { sleeps(NULL); };);
            fin_finish {
                start();
                fin_cancel();
            }
            CHECK_EQ(ended, 2);
        };
    }
}

int main(void) {
    lazy();
    eager();
    in_place();
    CHECK_EQ(ended, 4);
    CHECK_EQ(cancelled, 0);
    return 0;
}
