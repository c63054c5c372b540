// SPDX-License-Identifier: BSD-2-Clause
// A server without descriptors: fin_accept waits a little, says so, does not spin, and has lost no connection when there is
// room again; a short shortage is not seen at all; a cancelled one has taken none.
#include <sys/resource.h>
#include <time.h>

#include "net.h"

static int listener;
static struct sockaddr_in address;
static struct rlimit before;

static void allow(rlim_t n) {
    struct rlimit l = {.rlim_cur = n, .rlim_max = before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &l), 0);
}

static uint64_t cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * FIN_S + (uint64_t)t.tv_nsec;
}

int main(void) {
    fin_shared int peer = 0;
    fin_shared bool accepting = true;
    char c = 0;
    if (on_valgrind())
        SKIP("valgrind keeps the limit of descriptors to itself");
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    listener = tcp_listen(&address, 4);
    int client = tcp_connect(&address);
    CHECK_EQ(fin_sleep(1), 0);
    allow((rlim_t)client + 1);
    uint64_t start = fin_now(), used = cpu();
    for (int i = 0; i < 3; i++)
        CHECK_EQ(fin_accept(listener, NULL, NULL), -EMFILE);
    uint64_t waited = fin_now() - start;
    CHECK(waited >= 300 * FIN_MS);
    CHECK(cpu() - used < waited / 2);
    fin_finish {
        fin_async {
            peer = fin_accept(listener, NULL, NULL);
            accepting = false;
        };
        CHECK_EQ(fin_sleep(10 * FIN_MS), 0);
        fin_cancel();
    }
    CHECK_EQ(peer, -ECANCELED);
    accepting = true;
    fin_finish {
        fin_async {
            do // as servers do
                peer = fin_accept(listener, NULL, NULL);
            while (peer == -EMFILE);
            accepting = false;
        };
        CHECK_EQ(fin_sleep(10 * FIN_MS), 0);
        CHECK(accepting);
        allow(before.rlim_cur);
    }
    CHECK(peer >= 0);
    CHECK_EQ(fin_send(client, "x", 1, 0), 1);
    CHECK_EQ(fin_recv(peer, &c, 1, 0), 1);
    CHECK_EQ(c, 'x');
    return 0;
}
