// SPDX-License-Identifier: BSD-2-Clause
// A lambda that starts functions, in a finish block or in a body of it, is called in a block inside that one: the asyncs
// belong to the block that they are written in.
#include <fin.hpp>

#include "check.h"

static int ended, cancelled;

static void sleeps(void *) {
    cancelled += fin_sleep(FIN_MS) != 0;
    ended++;
}
static void sleeps_noexcept(void *) noexcept { sleeps(nullptr); }

template <class Start> static void inside(Start start) {
    int before = ended;
    fin_finish {
        start();
        fin_cancel();
    }
    CHECK_EQ(ended, before);
}

int main() {
    fin_finish {
        inside([&] {
            fin_async_eager_call(sleeps, nullptr);
            fin_async_eager_call(sleeps_noexcept, nullptr);
        });
        fin_async {
            inside([&] {
                fin_async_call(sleeps, nullptr);
                fin_async_call(sleeps_noexcept, nullptr);
                fin_async_eager_call(sleeps, nullptr);
            });
        };
    }
    CHECK_EQ(ended, 5);
    CHECK_EQ(cancelled, 0);
    return 0;
}
