// SPDX-License-Identifier: BSD-2-Clause
// A socket is closed by fin_close while fin_connect waits, and another gets its number. When the connect is cancelled, or
// fails, that one stays what it is: a listener listens on, and its connection is none of the other's.
#include "net.h"

enum { FILL = 8 };

static struct sockaddr_in full, other;
static int fd, result, fill[FILL];

static void connects(void *unused) {
    (void)unused;
    result = fin_connect(fd, (struct sockaddr *)&full, sizeof full);
}

static void connects_in_chain(void *unused) {
    struct fin_step s[] = {fin_step_connect(fd, (struct sockaddr *)&full, sizeof full), fin_step_send(fd, "x", 1, 0)};
    (void)unused;
    fin_linked(s, 2);
    result = (int)s[0].result;
}

// Nobody accepts, so what comes waits.
static int full_listener(void) {
    int listener = tcp_listen(&full, 0);
    for (int i = 0; i < FILL; i++) {
        fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(fill[i], (struct sockaddr *)&full, sizeof full);
    }
    return listener;
}

static void is_cancelled(void (*fn)(void *)) {
    int listener = full_listener();
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
    for (int i = 0; i < FILL; i++)
        close(fill[i]);
    close(listener);
}

// By a peer that is connected: so the one that was cancelled is not.
static void beside_connected(void) {
    int pair[2], listener = full_listener();
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
    for (int i = 0; i < FILL; i++)
        close(fill[i]);
    close(listener);
}

int main(void) {
    is_cancelled(connects);
    is_cancelled(connects_in_chain);
    beside_connected();
    return 0;
}
