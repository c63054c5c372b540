// SPDX-License-Identifier: BSD-2-Clause
// A fork at a moment when an accept has its connection, but not yet the end of the nudge that it was sent meanwhile: in the
// child it ends when it is cancelled, whether before the fork or after it.
#include "accepts.h"
#include "process.h"

static pid_t child;
static struct fin_event told;

static void took(int fd) {
    if (fd >= 0)
        close(fd);
    fin_event_advance(&told, 1);
}

// Begins once the other one waits.
static void is_cancelled_later(void *waits) {
    fin_event_await_nc(waits, 1);
    is_cancelled(NULL);
}

static void forks(bool cancelled_before) {
    struct fin_event waits = FIN_EVENT_INIT;
    fin_event_init(&comes);
    fin_event_init(&told);
    fin_finish {
        fin_async_call(is_cancelled_later, &waits);
        fin_finish {
            fin_async_call(accepts, NULL);
            CHECK_EQ(fin_sleep_nc(FIN_MS / 2), 0);
            fin_event_advance(&waits, 1);
            CHECK_EQ(fin_sleep_nc(FIN_MS / 2), 0);
            fin_event_advance(&comes, 1);
            fin_event_await_nc(&told, 1);
            if (cancelled_before)
                fin_cancel();
            child = fork();
            if (child == 0) {
                alarm(20);
                fin_cancel();
            }
        }
        if (child == 0)
            _exit(0);
        ended_well(child);
    }
    close_clients();
}

int main(void) {
    listen_here();
    forks(false);
    forks(true);
    return 0;
}
