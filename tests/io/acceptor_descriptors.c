// SPDX-License-Identifier: BSD-2-Clause
// Without descriptors an acceptor waits, in pauses and not in a loop, and loses no connection.
#include <fcntl.h>
#include <fin/stats.h>
#include <fin/stream.h>
#include <sys/resource.h>

#include "net.h"

enum { CLIENTS = 5 };

static int accepted;

static void accept_all(void *acceptor) {
    while (accepted < CLIENTS) {
        int fd = fin_acceptor_next(acceptor);
        CHECK(fd >= 0);
        accepted++;
    }
}

int main(void) {
    struct sockaddr_in address;
    struct fin_acceptor *a;
    struct rlimit many, few;
    if (on_valgrind())
        SKIP("valgrind keeps the limit of descriptors to itself");
    int listener = tcp_listen(&address, CLIENTS), clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = tcp_connect(&address);
    CHECK_EQ(fin_sleep(1), 0); // what the thread waits with is there
    CHECK_EQ(fin_acceptor_open(&a, listener, 0), 0);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &many), 0);
    few = many;
    int next = dup(0);
    close(next);
    few.rlim_cur = (rlim_t)next + 2;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    fin_finish {
        fin_async_call(accept_all, a);
        struct fin_stats before, after;
        CHECK_EQ(fin_sleep(50 * FIN_MS), 0);
        CHECK_EQ(accepted, 2);
        fin_stats(&before);
        CHECK_EQ(fin_sleep(300 * FIN_MS), 0);
        fin_stats(&after);
        CHECK_EQ(accepted, 2);
        CHECK(after.slept - before.slept < 40);
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &many), 0);
    }
    CHECK_EQ(accepted, CLIENTS);
    for (int i = 0; i < CLIENTS; i++) {
        char c = 0;
        CHECK_EQ(send(clients[i], "x", 1, 0), 1);
        CHECK_EQ(recv(next + i, &c, 1, 0), 1);
        CHECK_EQ(c, 'x');
    }
    CHECK_EQ(fin_acceptor_close(a), 0);
    return 0;
}
