// SPDX-License-Identifier: BSD-2-Clause
// Accept loops without a stack: each connection is handed out once, to whoever waits, or to nobody and then to a later call.
#include <fin/stream.h>

#include "net.h"

enum { LOOPS = 3, MANY = 200 };

static struct sockaddr_un address;
static socklen_t address_size;
static struct fin_acceptor *acceptor;
static struct fin_on place[LOOPS];
static int accepted, ended, last_error;

static void accepts(void *state, int fd) {
    int i = *(int *)state;
    if (fd == -ECANCELED || fd == -ESHUTDOWN) {
        last_error = fd;
        ended++;
        fin_cont_end();
    }
    CHECK(fd > 0);
    close(fd);
    accepted++;
    CHECK_EQ(fin_acceptor_next_on(acceptor, &place[i], accepts, &i, sizeof i), 0);
}

static void begins(void *state, int result) {
    int i = *(int *)state;
    CHECK_EQ(result, 0);
    CHECK_EQ(fin_acceptor_next_on(acceptor, &place[i], accepts, &i, sizeof i), 0);
}

static void start(struct fin_finish_block *block) {
    accepted = ended = 0;
    for (int i = 0; i < LOOPS; i++)
        CHECK(fin_cont_start_(block, begins, &i, sizeof i) != NULL);
}

static void until(int n) {
    while (accepted < n)
        CHECK_EQ(fin_sleep(FIN_MS / 10), 0);
}

// Unix sockets: a TCP connection that is reset before it is accepted may be one that never was.
static void connect_many(int n) {
    for (int i = 0; i < n; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK_EQ(connect(fd, (struct sockaddr *)&address, address_size), 0);
        close(fd);
    }
}

int main(void) {
    int listener = unix_listen(&address, &address_size, MANY);
    CHECK_EQ(fin_acceptor_open(&acceptor, listener, SOCK_CLOEXEC), 0);
    CHECK_EQ(fin_acceptor_next_on(acceptor, &place[0], accepts, NULL, 0), -EINVAL); // not an AWE that could
    for (int round = 0; round < 3; round++) {
        fin_finish {
            start(FIN_CONT_BLOCK_);
            fin_yield();
            struct fin_stats s;
            connect_many(MANY / 2);
            until(MANY / 2);
            fin_stats(&s);
            CHECK_EQ(s.stacks_used, 1);
            if (!on_epoll())
                CHECK_EQ(fin_acceptor_stop(acceptor), -EBUSY);
            connect_many(MANY / 2);
            until(MANY);
            fin_cancel();
        }
        CHECK_EQ(ended, LOOPS);
        CHECK_EQ(last_error, -ECANCELED);
        // what arrives now is for a later call, of whatever kind
        connect_many(1);
        int fd = fin_acceptor_next(acceptor);
        CHECK(fd > 0);
        close(fd);
    }
    if (!on_epoll()) {
        CHECK_EQ(fin_acceptor_stop(acceptor), 0);
        fin_finish { start(FIN_CONT_BLOCK_); }
        CHECK_EQ(last_error, -ESHUTDOWN);
    }
    CHECK_EQ(fin_acceptor_close(acceptor), 0);
    close(listener);
    return 0;
}
