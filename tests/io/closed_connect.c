// SPDX-License-Identifier: BSD-2-Clause
// A socket is closed by fin_close while fin_connect waits, and another gets its number. When the connect is cancelled, or
// fails, that one stays what it is: a listener listens on, and its connection is none of the other's.
#include "net.h"

static struct full_listener full;
static struct sockaddr_in other;
static int fd, result;

static void connects(void *unused) {
    (void)unused;
    result = fin_connect(fd, (struct sockaddr *)&full.address, sizeof full.address);
}

static void connects_in_chain(void *unused) {
    struct fin_step s[] = {fin_step_connect(fd, (struct sockaddr *)&full.address, sizeof full.address),
                           fin_step_send(fd, "x", 1, 0)};
    (void)unused;
    fin_linked(s, 2);
    result = (int)s[0].result;
}

static void is_cancelled(void (*fn)(void *)) {
    listen_and_fill(&full);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    result = 1;
    fin_finish {
        fin_async_call(fn, NULL);
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        CHECK_EQ(result, 1);
        CHECK_EQ(fin_close(fd), 0);
        CHECK_EQ(tcp_listen(&other, 4), fd);
        fin_cancel();
    }
    CHECK(result == -ECANCELED || result == -EBADF);
    close(tcp_connect(&other));
    close(fd);
    close_filled(&full);
}

// By a peer that is connected: so the one that was cancelled is not.
static void beside_connected(void) {
    int pair[2];
    listen_and_fill(&full);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    fin_finish {
        fin_async_call(connects, NULL);
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        CHECK_EQ(fin_close(fd), 0);
        stream_pair(pair);
        CHECK_EQ(pair[0], fd);
        fin_cancel();
    }
    CHECK(result == -ECANCELED || result == -EBADF);
    close(pair[0]);
    close(pair[1]);
    close_filled(&full);
}

int main(void) {
    is_cancelled(connects);
    is_cancelled(connects_in_chain);
    beside_connected();
    return 0;
}
