// SPDX-License-Identifier: BSD-2-Clause
// Several AWEs wait for a connection. One of them is cancelled at the moment when it comes, and has not taken it: another
// one does.
#include <fin/on.h>
#include <fin/stream.h>
#include <fin/sync.h>

#include "net.h"

enum { WAITERS = 3 };

static struct sockaddr_un name;
static struct sockaddr_in address;
static socklen_t name_size;
static bool is_tcp, without_stack;
static int listener, accepted, cancelled, waiting, client;
static struct fin_on on[WAITERS];
static struct fin_event comes;

static void took(int fd) {
    if (fd == -ECANCELED) {
        cancelled++;
    } else {
        CHECK(fd >= 0);
        close(fd);
        accepted++;
    }
}

static void accepts(void *unused) {
    (void)unused;
    took(fin_accept(listener, NULL, NULL));
}

static void ended(void *unused, int fd) {
    (void)unused;
    took(fd);
    fin_cont_end();
}

static void begins(void *unused, int r) {
    (void)unused;
    r = fin_accept_on(&on[waiting++], listener, 0, ended, NULL, 0);
    CHECK_EQ(r, 0);
}

static void connects(void) {
    client = socket(is_tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
    const void *to = is_tcp ? (void *)&address : (void *)&name;
    CHECK_EQ(connect(client, to, is_tcp ? sizeof address : name_size), 0);
}

static void waits_and_is_cancelled(void *unused) {
    (void)unused;
    fin_finish {
        if (without_stack)
            CHECK(fin_async_cont(begins, NULL, 0) != NULL);
        else
            fin_async_call(accepts, NULL);
        fin_event_await_nc(&comes, 1);
        connects();
        fin_cancel();
    }
}

static void one_is_cancelled(int which) {
    accepted = cancelled = waiting = 0;
    fin_event_init(&comes);
    fin_finish {
        for (int i = 0; i < WAITERS; i++) {
            if (i == which)
                fin_async_call(waits_and_is_cancelled, NULL);
            else if (without_stack)
                CHECK(fin_async_cont(begins, NULL, 0) != NULL);
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
    close(client);
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
        connects();
        CHECK_EQ(fin_acceptor_stop(a), 0);
        int kept = fin_acceptor_close(a);
        for (int i = 0; i < 1000 && accepted + kept == 0; i++)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(accepted + kept, 1);
        fin_cancel();
    }
    close(client);
}

int main(void) {
    for (int n = 0; n < 4; n++) {
        is_tcp = n % 2;
        without_stack = n / 2;
        listener = is_tcp ? tcp_listen(&address, 10) : unix_listen(&name, &name_size, 10);
        for (int i = 0; i < WAITERS; i++)
            one_is_cancelled(i);
        one_stops();
        close(listener);
    }
    return 0;
}
