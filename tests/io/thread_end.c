// SPDX-License-Identifier: BSD-2-Clause
// Threads that end after I/O leave no descriptors behind: many that were there at a time, too, and one that ends in the
// middle of its finish block, with requests in flight.
#include <pthread.h>

#include "net.h"

enum { FILE_SIZE = 30000 };

static int fd[2], file;

static void *does_some(void *unused) {
    (void)unused;
    static char c;
    fin_finish {
        fin_async { CHECK_EQ(fin_recv(fd[0], &c, 1, 0), 1); };
        fin_async { CHECK_EQ(fin_sleep(FIN_US), 0); };
        CHECK_EQ(fin_send(fd[1], "x", 1, 0), 1);
    }
    return NULL;
}

static char lost[8];

// To a peer that sends no more and has no room: a ring's wait for that has a descriptor of its own.
static void sends_too_much(int out) {
    static const char zeros[65536];
    while (fin_send(out, zeros, sizeof zeros, 0) > 0)
        ;
}

// By way of a pipe of the library's.
static void sends_file(int out) {
    off_t at = 0;
    fin_sendfile(out, file, &at, FILE_SIZE);
}

static void *ends_early(void *unused) {
    int half[2];
    stream_pair(half);
    int out = half[1];
    CHECK_EQ(shutdown(half[0], SHUT_WR), 0);
    fin_finish {
        fin_async_eager { sends_too_much(out); };
        fin_async_eager { sends_file(out); };
        fin_async_eager { fin_recv(fd[0], lost, sizeof lost, 0); };
        fin_async_eager { fin_sleep(3600 * FIN_S); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        close(half[0]);
        close(out);
        pthread_exit(unused);
    }
    return NULL;
}

static void run_thread(void *(*fn)(void *)) {
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, fn, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
}

enum { AT_A_TIME = 50 };

static void *waits_for_all(void *barrier) {
    CHECK_EQ(fin_sleep(1), 0);
    pthread_barrier_wait(barrier);
    return NULL;
}

static void run_many(void) {
    pthread_t t[AT_A_TIME];
    pthread_barrier_t barrier;
    CHECK_EQ(pthread_barrier_init(&barrier, NULL, AT_A_TIME), 0);
    for (int i = 0; i < AT_A_TIME; i++)
        CHECK_EQ(pthread_create(&t[i], NULL, waits_for_all, &barrier), 0);
    for (int i = 0; i < AT_A_TIME; i++)
        CHECK_EQ(pthread_join(t[i], NULL), 0);
    pthread_barrier_destroy(&barrier);
}

int main(void) {
    stream_pair(fd);
    file = nameless_file();
    CHECK_EQ(ftruncate(file, FILE_SIZE), 0);
    int before = open_descriptors();
    run_thread(does_some);
    run_many();
    CHECK_EQ(open_descriptors(), before);
    for (int i = 0; i < 100; i++)
        run_thread(does_some);
    CHECK_EQ(open_descriptors(), before);
    for (int i = 0; i < 100; i++) {
        char back[8];
        run_thread(ends_early);
        // Its request is not there any more to take this.
        CHECK_EQ(write(fd[1], "abc", 3), 3);
        CHECK_EQ(recv(fd[0], back, sizeof back, MSG_DONTWAIT), 3);
    }
    CHECK_EQ(lost[0], 0);
    CHECK_EQ(open_descriptors(), before);
    run_thread(does_some);
    return 0;
}
