// SPDX-License-Identifier: BSD-2-Clause
// What a socket cannot send without a copy is sent with one, unless fin_close has closed that socket meanwhile: another that
// has got its number gets nothing of it.
#include <fin/fixed.h>

#include "net.h"

static int from[2], next[2];
static char data[] = "not for you", got[sizeof data];
static ssize_t result;

static void sends(void *unused) {
    (void)unused;
    result = fin_send_zc(from[0], data, sizeof data, 0);
}

static void sends_message(void *unused) {
    struct iovec v = {data, sizeof data};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    (void)unused;
    result = fin_sendmsg_zc(from[0], &m, 0);
}

static int number;

static void sends_to_number(void *unused) {
    (void)unused;
    result = fin_send_zc(number, data, sizeof data, 0);
}

static void replaces(void *unused) {
    (void)unused;
    CHECK_EQ(fin_close(from[0]), 0);
    stream_pair(next);
    CHECK_EQ(next[0], from[0]);
}

// A Unix socket copies always.
static void other_gets_nothing(void (*fn)(void *)) {
    stream_pair(from);
    fin_finish {
        fin_async_call(fn, NULL);
        fin_async_call(replaces, NULL);
    }
    CHECK(recv(next[1], got, sizeof got, MSG_DONTWAIT) < 0);
    CHECK(result == -EBADF || result == (ssize_t)sizeof data);
    close(from[1]);
    close(next[0]);
    close(next[1]);
}

// What has begun goes on.
static void unregistered(void) {
    stream_pair(from);
    number = fin_file_register(from[0]);
    CHECK(number >= 0);
    fin_finish {
        fin_async_call(sends_to_number, NULL);
        CHECK_EQ(fin_file_unregister(number), 0);
    }
    CHECK_EQ(result, sizeof data);
    CHECK_EQ(recv(from[1], got, sizeof got, MSG_DONTWAIT), sizeof data);
    close(from[0]);
    close(from[1]);
}

int main(void) {
    other_gets_nothing(sends);
    other_gets_nothing(sends_message);
    unregistered();
    return 0;
}
