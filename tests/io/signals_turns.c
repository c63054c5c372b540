// SPDX-License-Identifier: BSD-2-Clause
// Signals that come faster than they are handled do not keep others of the thread from running: in the ring each is waited
// for, also where it has come.
#include <signal.h>
#include <string.h>

#include "net.h"

enum { MANY = 200 };

static unsigned turns;
static bool over;

int main(void) {
    static struct fin_signals s;
    sigset_t set;
    if (strncmp(fin_io_backend(), "io_uring", 8) != 0)
        SKIP("without a ring what has come is taken at once");
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    CHECK_EQ(fin_signals_open(&s, &set), 0);
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i}), 0);
    fin_finish {
        fin_async_eager {
            while (!over) {
                turns++;
                fin_yield();
            }
        };
        for (int i = 0; i < MANY; i++) {
            struct fin_signal_info info;
            CHECK_EQ(fin_signals_next(&s, &info), 0);
            CHECK_EQ((int)info.value, i);
        }
        CHECK(turns >= MANY);
        over = true;
    }
    fin_signals_close(&s);
    return 0;
}
