// SPDX-License-Identifier: BSD-2-Clause
// Connecting without a stack: it is connected, or the reason is told, and the socket is good for another address after a
// refusal or a cancel. Also where the other side has no room for it yet.
#define _GNU_SOURCE
#include <fcntl.h>

#include <fin/finish_on.h>

#include "net.h"

static struct fin_more_on on;
static struct fin_finish_on limit;
static const void *to;
static socklen_t to_size;
static int fd, result;

static void over(void *state, int r) {
    (void)state;
    result = r;
    fin_cont_end();
}

static void connects(void *state, int r) {
    (void)state, (void)r;
    fin_connect_on(&on, fd, to, to_size, over, NULL, 0);
    CHECK(false);
}

static int connect_to(const void *address, socklen_t size) {
    to = address;
    to_size = size;
    fin_finish {
        CHECK(fin_async_cont(connects, NULL, 0));
    }
    return result;
}

static void talks(int listener) {
    char c;
    int peer = fin_accept(listener, NULL, NULL);
    CHECK(peer >= 0);
    CHECK_EQ(fin_send(fd, "x", 1, 0), 1);
    CHECK_EQ(fin_recv(peer, &c, 1, 0), 1);
    close(peer);
}

static void connected_and_refused(int mode) {
    struct sockaddr_in nobody, somebody;
    int bound = tcp_listen(&nobody, -1), listener = tcp_listen(&somebody, 1);
    fd = socket(AF_INET, SOCK_STREAM | mode, 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(connect_to(&nobody, sizeof nobody), -ECONNREFUSED);
    CHECK_EQ(connect_to(&somebody, sizeof somebody), 0);
    talks(listener);
    CHECK_EQ(connect_to(&somebody, sizeof somebody), -EISCONN);
    CHECK_EQ(!!(fcntl(fd, F_GETFL) & O_NONBLOCK), !!mode);
    close(fd);
    CHECK_EQ(connect_to(&somebody, sizeof somebody), -EBADF);
    close(bound);
    close(listener);
}

// Nobody accepts, so what comes waits.
static void limited(void *state, int r) {
    (void)state;
    result = r;
    CHECK_EQ(fin_finish_close(&limit), 1);
    fin_cont_end();
}

static void connects_in_time(void *state, int r) {
    (void)state, (void)r;
    CHECK_EQ(fin_timeout_open(&limit, 5 * FIN_MS), 0);
    fin_connect_on(&on, fd, to, to_size, limited, NULL, 0);
    CHECK(false);
}

static void cancelled_and_closed(void) {
    struct full_listener full;
    struct sockaddr_in somebody;
    int listener = tcp_listen(&somebody, 1);
    listen_and_fill(&full);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    to = &full.address;
    to_size = sizeof full.address;
    fin_finish {
        CHECK(fin_async_cont(connects_in_time, NULL, 0));
    }
    CHECK_EQ(result, -ECANCELED);
    CHECK_EQ(connect_to(&somebody, sizeof somebody), 0);
    talks(listener);
    close(fd);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    to = &full.address;
    result = 1;
    fin_finish {
        CHECK(fin_async_cont(connects, NULL, 0));
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        CHECK_EQ(result, 1);
        CHECK_EQ(fin_close(fd), 0);
        CHECK_EQ(dup(full.fd), fd); // another file has its number
        fin_cancel();
    }
    CHECK(result == -ECANCELED || result == -EBADF);
    close(fd);
    close_filled(&full);
    close(listener);
}

// A Unix socket whose peer has as many to accept as it wants is told only that, if it may not block.
static void no_room_yet(int mode) {
    struct sockaddr_un name;
    socklen_t size;
    int listener = unix_listen(&name, &size, 0), first = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(connect(first, (struct sockaddr *)&name, size), 0);
    fd = socket(AF_UNIX, SOCK_STREAM | mode, 0);
    to = &name;
    to_size = size;
    result = 1;
    fin_finish {
        CHECK(fin_async_cont(connects, NULL, 0));
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        CHECK_EQ(result, 1);
        int peer = fin_accept(listener, NULL, NULL);
        CHECK(peer >= 0);
        close(peer);
    }
    CHECK_EQ(result, 0);
    talks(listener);
    close(fd);
    close(first);
    close(listener);
}

static void refuses(void *state, int r) {
    char much[FIN_CONT_STATE + 1] = "";
    (void)state, (void)r;
    CHECK_EQ(fin_connect_on(&on, fd, to, to_size, over, much, sizeof much), -E2BIG);
    CHECK_EQ(fin_connect_on(&on, fd, to, to_size, NULL, NULL, 0), -EINVAL);
    fin_cont_end();
}

int main(void) {
    connected_and_refused(0);
    connected_and_refused(SOCK_NONBLOCK);
    cancelled_and_closed();
    no_room_yet(0);
    no_room_yet(SOCK_NONBLOCK);
    CHECK_EQ(fin_connect_on(&on, 0, to, to_size, over, NULL, 0), -EINVAL);
    fin_finish {
        CHECK(fin_async_cont(refuses, NULL, 0));
    }
    fin_finish {
        fin_cancel();
        CHECK(fin_async_cont(connects, NULL, 0));
    }
    CHECK_EQ(result, -ECANCELED);
    return 0;
}
