// SPDX-License-Identifier: BSD-2-Clause
// How a server ends: fin_shutdown of its listener ends all that accept from it, in whichever way they wait, with -EINVAL,
// and so do later accepts. Connections that were accepted go on; TCP's that nobody had accepted are reset, those of a Unix
// socket can still be accepted.
#include <fin/on.h>
#include <fin/stream.h>

#include "net.h"

enum { STACK, CONTINUATION, ACCEPTOR, ACCEPTOR_CONTINUATION, WAYS };

static int listener, results[WAYS];
static struct fin_on on[2];
static struct fin_acceptor *acceptor;

static void accepts(void *unused) {
    (void)unused;
    results[STACK] = fin_accept(listener, NULL, NULL);
}

static void takes_next(void *unused) {
    (void)unused;
    results[ACCEPTOR] = fin_acceptor_next(acceptor);
}

static void ended(void *way, int result) {
    results[*(int *)way] = result;
    fin_cont_end();
}

static void waits_without_a_stack(void *state, int unused) {
    int way = *(int *)state;
    (void)unused;
    if (way == CONTINUATION)
        fin_accept_on(&on[0], listener, 0, ended, &way, sizeof way);
    else
        fin_acceptor_next_on(acceptor, &on[1], ended, &way, sizeof way);
}

static void shut_while_they_wait(int family, unsigned ways) {
    struct sockaddr_in in;
    struct sockaddr_un un;
    socklen_t size;
    listener = family == AF_INET ? tcp_listen(&in, 16) : unix_listen(&un, &size, 16);
    memset(results, 0, sizeof results);
    CHECK_EQ(fin_acceptor_open(&acceptor, listener, 0), 0);
    fin_finish {
        if (ways >> STACK & 1)
            fin_async_call(accepts, NULL);
        if (ways >> ACCEPTOR & 1)
            fin_async_call(takes_next, NULL);
        for (int i = 0; i < WAYS; i++)
            if (ways >> i & 1 && i != STACK && i != ACCEPTOR)
                CHECK(fin_async_cont(waits_without_a_stack, &i, sizeof i));
        CHECK_EQ(fin_sleep(2 * FIN_MS), 0);
        CHECK_EQ(fin_shutdown(listener, SHUT_RDWR), 0);
    }
    for (int i = 0; i < WAYS; i++)
        CHECK_EQ(results[i], ways >> i & 1 ? -EINVAL : 0);
    CHECK_EQ(fin_accept(listener, NULL, NULL), -EINVAL);
    CHECK_EQ(fin_acceptor_next(acceptor), -EINVAL);
    CHECK_EQ(fin_acceptor_close(acceptor), 0);
    CHECK_EQ(fin_close(listener), 0);
}

// One has been accepted, the next stands in the queue.
static void clients(int family) {
    struct sockaddr_in in;
    struct sockaddr_un un;
    socklen_t size = sizeof in;
    int client[2], fd;
    char c = 'x';
    listener = family == AF_INET ? tcp_listen(&in, 16) : unix_listen(&un, &size, 16);
    for (int i = 0; i < 2; i++) {
        client[i] = socket(family, SOCK_STREAM, 0);
        CHECK_EQ(fin_connect(client[i], family == AF_INET ? (void *)&in : (void *)&un, size), 0);
    }
    CHECK((fd = fin_accept(listener, NULL, NULL)) >= 0);
    CHECK_EQ(fin_shutdown(listener, SHUT_RDWR), 0);
    CHECK_EQ(fin_send(client[0], &c, 1, 0), 1);
    CHECK_EQ(fin_recv(fd, &c, 1, 0), 1);
    CHECK_EQ(fin_close(fd), 0);
    if (family == AF_INET) {
        CHECK_EQ(fin_recv(client[1], &c, 1, 0), -ECONNRESET);
    } else {
        CHECK((fd = fin_accept(listener, NULL, NULL)) >= 0);
        CHECK_EQ(fin_close(fd), 0);
    }
    CHECK_EQ(fin_accept(listener, NULL, NULL), -EINVAL);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(fin_close(client[i]), 0);
    CHECK_EQ(fin_close(listener), 0);
}

int main(void) {
    alarm(60);
    for (unsigned ways = 1; ways < 1 << WAYS; ways++) {
        shut_while_they_wait(AF_INET, ways);
        shut_while_they_wait(AF_UNIX, ways);
    }
    clients(AF_INET);
    clients(AF_UNIX);
    return 0;
}
