// SPDX-License-Identifier: BSD-2-Clause
// A descriptor is closed while others wait for it: each of them waits on or hears that it is gone, can be cancelled, and
// never takes what belongs to another file that has got the number.
#include <fin/stream.h>
#include <poll.h>

#include "net.h"

static int fd[2], next[2], results[3];

static void receive(void *i) {
    char c;
    results[(intptr_t)i] = (int)fin_recv(fd[0], &c, 1, 0);
}
static void look(void *i) { results[(intptr_t)i] = fin_poll(fd[0], POLLIN); }
static void begin_read(void *i) {
    char c;
    results[(intptr_t)i] = (int)fin_read(fd[0], &c, 1);
}

static void closed(void) {
    char c = 0;
    stream_pair(fd);
    fin_finish {
        fin_async_call(receive, (void *)0);
        fin_async_call(look, (void *)1);
        fin_async_call(begin_read, (void *)2);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_close(fd[0]), 0);
        stream_pair(next);
        CHECK_EQ(next[0], fd[0]);
        CHECK_EQ(write(next[1], "n", 1), 1);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel();
    }
    for (int i = 0; i < 3; i++)
        CHECK(results[i] == -ECANCELED || results[i] == -EBADF);
    CHECK_EQ(recv(next[0], &c, 1, MSG_DONTWAIT), 1);
    CHECK_EQ(c, 'n');
    close(fd[1]);
    close(next[0]);
    close(next[1]);
}

// What to do instead.
static void shut(void) {
    stream_pair(fd);
    fin_finish {
        fin_async_call(receive, (void *)0);
        fin_async_call(look, (void *)1);
        fin_async_call(begin_read, (void *)2);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_shutdown(fd[0], SHUT_RDWR), 0);
    }
    CHECK_EQ(results[0], 0);
    CHECK(results[1] & POLLIN);
    CHECK_EQ(results[2], 0);
    CHECK_EQ(fin_close(fd[0]), 0);
    CHECK_EQ(fin_send(fd[1], "x", 1, 0), -EPIPE);
    close(fd[1]);
}

// Those that accept hear of it, too: of a Unix socket the kernel tells only who waits in it.
static void take_one(void *unused) {
    (void)unused;
    results[0] = fin_accept(fd[0], NULL, NULL);
}

static void take_next(void *acceptor) {
    int r = fin_acceptor_next(acceptor);
    results[1 + (results[1] != 0)] = r;
}

static void shut_listener(int listener) {
    struct fin_acceptor *a;
    fd[0] = listener;
    memset(results, 0, sizeof results);
    CHECK_EQ(fin_acceptor_open(&a, listener, 0), 0);
    fin_finish {
        fin_async_call(take_one, NULL);
        fin_async_call(take_next, a);
        fin_async_call(take_next, a);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_shutdown(listener, SHUT_RDWR), 0);
    }
    for (int i = 0; i < 3; i++)
        CHECK_EQ(results[i], -EINVAL);
    CHECK_EQ(fin_acceptor_close(a), 0);
    close(listener);
}

int main(void) {
    for (int i = 0; i < 10; i++) {
        struct sockaddr_in tcp;
        struct sockaddr_un name;
        socklen_t size;
        closed();
        shut();
        shut_listener(unix_listen(&name, &size, 1));
        shut_listener(tcp_listen(&tcp, 1));
    }
    return 0;
}
