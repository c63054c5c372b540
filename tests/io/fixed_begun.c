// SPDX-License-Identifier: BSD-2-Clause
// A registration ends while calls wait, which make more than one attempt, or the first one later: those that have
// begun go on with the file.
#include <fcntl.h>
#include <fin/fixed.h>
#include <fin/on.h>
#include <poll.h>

#include "net.h"

enum { FILL = 4 };

static char much[1 << 16];
static int pair[2], number, result;
static struct sockaddr_un name;
static socklen_t size;

static void polls(void *unused) {
    (void)unused;
    result = fin_poll(number, POLLOUT);
}

static void connects(void *unused) {
    (void)unused;
    result = fin_connect(number, (struct sockaddr *)&name, size);
}

static struct fin_more_on more_on;

static void has_connected(void *state, int r) {
    (void)state;
    result = r;
    fin_cont_end();
}

static void connects_on(void *state, int r) {
    fin_connect_on(&more_on, number, (struct sockaddr *)&name, size, has_connected, state, 0);
    has_connected(state, r);
}

static void begins(void *on) {
    fin_finish {
        if (on)
            CHECK(fin_async_cont(connects_on, NULL, 0) != NULL);
        else
            connects(NULL);
    }
}

// Until fn waits.
static void unregister_meanwhile(void) {
    CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
    CHECK_EQ(result, 1);
    CHECK_EQ(fin_file_unregister(number), 0);
}

// The peer has sent its last: a ring's wait for room ends with that.
static void half_closed(void) {
    stream_pair(pair);
    while (send(pair[0], much, sizeof much, MSG_DONTWAIT) > 0)
        continue;
    CHECK_EQ(shutdown(pair[1], SHUT_WR), 0);
    number = fin_file_register(pair[0]);
    result = 1;
    fin_finish {
        fin_async_call(polls, NULL);
        unregister_meanwhile();
        while (recv(pair[1], much, sizeof much, MSG_DONTWAIT) > 0)
            continue;
    }
    CHECK(result > 0 && result & POLLOUT);
    close(pair[0]);
    close(pair[1]);
}

// Nothing tells when a listener has room: it is asked again and again, with a stack or without.
static void full_listener(void *on) {
    int listener = unix_listen(&name, &size, 0), fill[FILL], taken;
    for (int i = 0; i < FILL; i++) {
        fill[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(fill[i], (struct sockaddr *)&name, size);
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    number = fin_file_register(fd);
    CHECK_EQ(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
    result = 1;
    fin_finish {
        fin_async_call(begins, on);
        unregister_meanwhile();
        for (int i = 0; i < 10000 && result == 1; i++) {
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            if ((taken = accept(listener, NULL, NULL)) >= 0)
                close(taken);
        }
    }
    CHECK_EQ(result, 0);
    for (int i = 0; i < FILL; i++)
        close(fill[i]);
    close(fd);
    close(listener);
}

static struct fin_on on;

static void has_sent(void *state, int n) {
    (void)state;
    result = n;
    fin_cont_end();
}

static void sends_later(void *state, int n) {
    (void)state;
    CHECK_EQ(n, 0);
    fin_send_at_on(&on, fin_now() + 10 * FIN_MS, number, "x", 1, 0, has_sent, NULL, 0);
}

static void before_its_time(void) {
    stream_pair(pair);
    number = fin_file_register(pair[0]);
    result = 0;
    fin_finish {
        CHECK(fin_async_cont(sends_later, NULL, 0) != NULL);
        fin_yield();
        CHECK_EQ(fin_file_unregister(number), 0);
    }
    CHECK_EQ(result, 1);
    CHECK_EQ(recv(pair[1], much, sizeof much, MSG_DONTWAIT), 1);
    close(pair[0]);
    close(pair[1]);
}

static void unregisters(void *unused) {
    (void)unused;
    fin_yield();
    CHECK_EQ(fin_file_unregister(number), 0);
}

// Of many calls in a row some give the others a turn before they do anything.
static void after_a_turn(void) {
    char c;
    stream_pair(pair);
    for (int i = 0; i < 200; i++) {
        number = fin_file_register(pair[0]);
        CHECK_EQ(send(pair[1], "x", 1, 0), 1);
        fin_finish {
            fin_async_call(unregisters, NULL);
            CHECK_EQ(fin_recv(number, &c, 1, 0), 1);
        }
    }
    close(pair[0]);
    close(pair[1]);
}

int main(void) {
    half_closed();
    full_listener(NULL);
    full_listener(&more_on);
    before_its_time();
    after_a_turn();
    return 0;
}
