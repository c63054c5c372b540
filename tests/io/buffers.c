// SPDX-License-Identifier: BSD-2-Clause
// Buffers are taken when data is there: many connections that are idle hold none, and one is enough for all of them. Without
// one a receive waits, also while others that wait do not use theirs; nothing is lost.
#include <fin/stream.h>
#include <pthread.h>

#include "net.h"

enum { CONNECTIONS = 50, SIZE = 64 };

static int fd[CONNECTIONS][2], received, cancelled;
static struct fin_buffers *pool;

static void receive(void *pair) {
    void *piece;
    ssize_t n = fin_buffers_recv(pool, ((int *)pair)[0], &piece, 0);
    if (n == -ECANCELED) {
        CHECK(piece == NULL);
        cancelled++;
        return;
    }
    CHECK_EQ(n, 3);
    CHECK(memcmp(piece, "abc", 3) == 0);
    CHECK_EQ(fin_sleep_nc(FIN_US), 0); // others find no buffer
    CHECK(memcmp(piece, "abc", 3) == 0);
    CHECK_EQ(fin_buffers_put(pool, (char *)piece + SIZE - 1), 0);
    received++;
}

static void open_all(unsigned buffers) {
    CHECK_EQ(fin_buffers_open(&pool, buffers, SIZE), 0);
    for (int i = 0; i < CONNECTIONS; i++)
        stream_pair(fd[i]);
    received = cancelled = 0;
}

static void close_all(void) {
    for (int i = 0; i < CONNECTIONS; i++) {
        close(fd[i][0]);
        close(fd[i][1]);
    }
    CHECK_EQ(fin_buffers_close(pool), 0);
}

static void few_buffers(unsigned buffers) {
    open_all(buffers);
    fin_finish {
        for (int i = 0; i < CONNECTIONS; i++)
            fin_async_call(receive, fd[i]);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_buffers_close(pool), -EBUSY);
        for (int i = 0; i < CONNECTIONS; i++)
            CHECK_EQ(fin_send(fd[i][1], "abc", 3, 0), 3);
    }
    CHECK_EQ(received, CONNECTIONS);
    close_all();
}

// All begin while the program has the only buffer; when it comes back those without data must not keep it from those with.
static void idle_ones_before(void) {
    void *piece;
    open_all(1);
    CHECK_EQ(send(fd[0][1], "first", 5, 0), 5);
    CHECK_EQ(fin_buffers_recv(pool, fd[0][0], &piece, 0), 5);
    fin_finish {
        for (int i = 0; i < CONNECTIONS; i++)
            fin_async_call(receive, fd[i]);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_send(fd[CONNECTIONS - 1][1], "abc", 3, 0), 3);
        CHECK_EQ(fin_send(fd[CONNECTIONS / 2][1], "abc", 3, 0), 3);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(received, 0);
        CHECK_EQ(fin_buffers_put(pool, piece), 0);
        while (received < 2)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel();
    }
    CHECK_EQ(received, 2);
    CHECK_EQ(cancelled, CONNECTIONS - 2);
    close_all();
}

// Two have data and wait for the buffer; the one that is woken for it is cancelled then, and passes it on.
static void cancelled_with_buffer(void) {
    void *piece;
    open_all(1);
    CHECK_EQ(send(fd[0][1], "first", 5, 0), 5);
    CHECK_EQ(fin_buffers_recv(pool, fd[0][0], &piece, 0), 5);
    for (int i = 1; i < 3; i++)
        CHECK_EQ(send(fd[i][1], "abc", 3, 0), 3);
    fin_finish_as(all) {
        fin_finish {
            fin_async_call(receive, fd[1]);
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            fin_async_call(receive, fd[2]);
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            fin_finish {
                fin_async { CHECK_EQ(fin_buffers_put(pool, piece), 0); };
            }
            fin_cancel();
        }
        fin_async_call(receive, fd[1]);
        if (cancelled == 2)
            fin_async_call(receive, fd[2]);
    }
    CHECK_EQ(received, 2);
    close_all();
}

static void errors(void) {
    void *piece = &pool, *other;
    char c[SIZE];
    CHECK_EQ(fin_buffers_open(&pool, 0, SIZE), -EINVAL);
    CHECK_EQ(fin_buffers_open(&pool, 32769, SIZE), -EINVAL);
    CHECK_EQ(fin_buffers_open(&pool, 1, 0), -EINVAL);
    open_all(2);
    CHECK_EQ(fin_buffers_recv(pool, fd[0][0], &piece, MSG_DONTWAIT), -EAGAIN);
    CHECK(piece == NULL);
    CHECK_EQ(fin_buffers_recv(pool, fd[0][0], &piece, MSG_PEEK), -EINVAL);
    CHECK_EQ(fin_buffers_recv(pool, -1, &piece, 0), -EBADF);
    CHECK_EQ(send(fd[0][1], "ab", 2, 0), 2);
    CHECK_EQ(send(fd[1][1], "ab", 2, 0), 2);
    CHECK_EQ(send(fd[2][1], "ab", 2, 0), 2);
    CHECK_EQ(fin_buffers_recv(pool, fd[0][0], &piece, MSG_DONTWAIT), 2);
    CHECK_EQ(fin_buffers_recv(pool, fd[1][0], &other, MSG_DONTWAIT), 2);
    CHECK(other != piece);
    CHECK_EQ(fin_buffers_recv(pool, fd[2][0], &other, MSG_DONTWAIT), -ENOBUFS);
    CHECK_EQ(fin_buffers_put(pool, c), -EINVAL);
    CHECK_EQ(fin_buffers_put(pool, piece), 0);
    CHECK_EQ(fin_buffers_put(pool, piece), -EINVAL); // it is not ours any more
    shutdown(fd[1][1], SHUT_WR);
    for (int i = 0; i < 5; i++)
        CHECK_EQ(fin_buffers_recv(pool, fd[1][0], &piece, 0), 0); // which takes no buffer
    CHECK_EQ(fin_buffers_recv(pool, fd[2][0], &piece, 0), 2);
    CHECK_EQ(memcmp(piece, "ab", 2), 0);
    close_all(); // with two that were not put back
}

static void *other_thread(void *unused) {
    void *piece;
    CHECK_EQ(fin_buffers_recv(pool, fd[0][0], &piece, 0), -EXDEV);
    CHECK_EQ(fin_buffers_put(pool, NULL), -EXDEV);
    CHECK_EQ(fin_buffers_close(pool), -EXDEV);
    return unused;
}

static void *leaves_it_open(void *unused) {
    struct fin_buffers *b;
    void *piece;
    CHECK_EQ(fin_buffers_open(&b, 8, SIZE), 0);
    CHECK_EQ(send(fd[0][1], "ab", 2, 0), 2);
    CHECK_EQ(fin_buffers_recv(b, fd[0][0], &piece, 0), 2);
    return unused;
}

static void threads(void) {
    pthread_t t;
    open_all(1);
    CHECK_EQ(pthread_create(&t, NULL, other_thread, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    CHECK_EQ(pthread_create(&t, NULL, leaves_it_open, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    close_all();
}

int main(void) {
    few_buffers(1);
    few_buffers(7);
    few_buffers(CONNECTIONS * 2);
    idle_ones_before();
    cancelled_with_buffer();
    errors();
    threads();
    return 0;
}
