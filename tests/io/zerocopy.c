// SPDX-License-Identifier: BSD-2-Clause
// Sends without a copy: the count is what the peer gets, the buffer may be used again at once, and sockets that cannot do it
// send all the same.
#include <fin/fixed.h>
#include <pthread.h>

#include "net.h"

enum { SIZE = 100000, ROUNDS = 200 };

static int fd[2];
static unsigned sent, received;
static unsigned seed = 5;

static void tcp_pair(void) {
    struct sockaddr_in address;
    int listener = tcp_listen(&address, 1);
    fd[1] = tcp_connect(&address);
    fd[0] = accept(listener, NULL, NULL);
    close(listener);
}

static void *drain(void *unused) {
    static unsigned char p[SIZE];
    ssize_t n;
    for (; (n = read(fd[0], p, sizeof p)) > 0; received += (unsigned)n)
        check_numbers(p, (size_t)n, received);
    CHECK_EQ(n, 0);
    return unused;
}

static unsigned char data[SIZE];

static void send_one(void *message) {
    size_t size = next_random(&seed) % SIZE + 1;
    struct iovec v[2] = {{data, size / 2}, {data + size / 2, size - size / 2}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
    number_bytes(data, size, sent);
    ssize_t n = message ? fin_sendmsg_zc(fd[1], &m, 0) : fin_send_zc(fd[1], data, size, 0);
    CHECK((n > 0 && (size_t)n <= size) || n == -ECANCELED);
    if (n > 0)
        sent += (unsigned)n;
    memset(data, 255, sizeof data); // nobody reads it any more
}

static void sending(void *message, bool with_cancels) {
    pthread_t t;
    sent = received = 0;
    CHECK_EQ(pthread_create(&t, NULL, drain, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        fin_finish {
            fin_async_call(send_one, message);
            if (with_cancels) {
                if (next_random(&seed) % 2)
                    CHECK_EQ(fin_sleep_nc(next_random(&seed) % 50000), 0);
                fin_cancel();
            }
        }
    }
    close(fd[1]);
    CHECK_EQ(pthread_join(t, NULL), 0);
    close(fd[0]);
    CHECK_EQ(received, sent);
}

static ssize_t last;

static void send_on(void *unused) {
    (void)unused;
    do
        last = fin_send_zc(fd[1], data, sizeof data, 0);
    while (last > 0);
}

static bool ended;
static void send_until_cancelled(void *unused) {
    fin_finish {
        fin_async_call(send_on, unused);
        fin_sleep_nc(FIN_MS);
        fin_cancel();
    }
    ended = true;
}

// Nobody reads before it is cancelled. What was sent may keep its buffer, and so the call, until it has been read: on 6.1.
static void cancelled_when_full(void) {
    static char room[SIZE];
    tcp_pair();
    fin_finish {
        fin_async_call(send_until_cancelled, NULL);
        CHECK_EQ(fin_sleep(2 * FIN_MS), 0);
        while (!ended) {
            recv(fd[0], room, sizeof room, MSG_DONTWAIT);
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        }
    }
    CHECK_EQ(last, -ECANCELED);
    close(fd[0]);
    close(fd[1]);
}

int main(void) {
    for (int i = 0; i < 8; i++) {
        if (i & 1)
            tcp_pair();
        else
            stream_pair(fd);
        sending(i & 2 ? data : NULL, i & 4);
    }
    cancelled_when_full();
    tcp_pair();
    CHECK_EQ(fin_send_zc(-1, "x", 1, 0), -EBADF);
    close(fd[0]);
    struct linger now = {.l_onoff = 1};
    setsockopt(fd[1], SOL_SOCKET, SO_LINGER, &now, sizeof now);
    shutdown(fd[1], SHUT_WR);
    CHECK_EQ(fin_send_zc(fd[1], "x", 1, 0), -EPIPE);
    return 0;
}
