// SPDX-License-Identifier: BSD-2-Clause
// Several AWEs wait for a connection. One of them is cancelled at the moment when it comes, and has not taken it: another
// one does.
#include "accepts.h"

enum { WAITERS = 3 };

static bool without_stack;
static int accepted, cancelled;
static struct fin_on on[WAITERS];

static void took(int fd) {
    if (fd == -ECANCELED) {
        cancelled++;
    } else {
        CHECK(fd >= 0);
        close(fd);
        accepted++;
    }
}

// At once: nobody runs before the cancel.
static void one_comes(void) {
    clients[0] = socket(is_tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(connect(clients[0], &address.any, address_size), 0);
}

static void waits_and_is_cancelled(void *its_place) {
    struct fin_on *place = its_place;
    fin_finish {
        if (without_stack)
            CHECK(fin_async_cont(begins, &place, sizeof place) != NULL);
        else
            fin_async_call(accepts, NULL);
        fin_event_await_nc(&comes, 1);
        one_comes();
        fin_cancel();
    }
}

static void one_is_cancelled(int which) {
    accepted = cancelled = 0;
    fin_event_init(&comes);
    fin_finish {
        for (int i = 0; i < WAITERS; i++) {
            struct fin_on *place = &on[i];
            if (i == which)
                fin_async_call(waits_and_is_cancelled, place);
            else if (without_stack)
                CHECK(fin_async_cont(begins, &place, sizeof place) != NULL);
            else
                fin_async_call(accepts, NULL);
            CHECK_EQ(fin_sleep(FIN_MS / 10), 0); // this one waits before the next
        }
        fin_event_advance(&comes, 1);
        for (int i = 0; i < 1000 && accepted == 0; i++)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(accepted, 1);
        CHECK(cancelled <= 1);
        fin_cancel();
    }
    close(clients[0]);
}

// An acceptor whose request waits stops: another one takes it, or the acceptor has it.
static void one_stops(void) {
    struct fin_acceptor *a;
    CHECK_EQ(fin_acceptor_open(&a, listener, 0), 0);
    accepted = cancelled = 0;
    fin_finish {
        fin_timeout(FIN_MS) {
            CHECK_EQ(fin_acceptor_next(a), -ECANCELED);
        }
        fin_async_call(accepts, NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        one_comes();
        CHECK_EQ(fin_acceptor_stop(a), 0);
        int kept = fin_acceptor_close(a);
        for (int i = 0; i < 1000 && accepted + kept == 0; i++)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(accepted + kept, 1);
        fin_cancel();
    }
    close(clients[0]);
}

int main(void) {
    for (int n = 0; n < 4; n++) {
        is_tcp = n % 2;
        without_stack = n / 2;
        listen_here();
        for (int i = 0; i < WAITERS; i++)
            one_is_cancelled(i);
        one_stops();
        close(listener);
    }
    return 0;
}
