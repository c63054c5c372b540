// SPDX-License-Identifier: BSD-2-Clause
// Where a filter denies preadv2(2) and pwritev2(2), whoever reads a pipe or writes to it asks first whether it is ready. A
// thread that is not Fin's takes what is there, or the room, in between: the call waits again, and others run meanwhile. And
// nobody who shares the open file sees it change its mode.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <fin.h>

#include "deny.h"

enum { BYTES = 5000, PAGE = 4096 };

static int ends[2], other; // another open file of one of the ends, that does not block
static long taken, given, stop;

static void *takes(void *unused) {
    char c;
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
        if (read(other, &c, 1) == 1)
            __atomic_fetch_add(&taken, 1, __ATOMIC_SEQ_CST);
        CHECK(!(fcntl(ends[0], F_GETFL) & O_NONBLOCK));
    }
    return NULL;
}

static void *fills(void *unused) {
    static char page[PAGE];
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
        if (write(other, page, PAGE) == PAGE)
            __atomic_fetch_add(&given, PAGE, __ATOMIC_SEQ_CST);
        CHECK(!(fcntl(ends[1], F_GETFL) & O_NONBLOCK));
    }
    return NULL;
}

static void open_again(int end, int flags) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[end]);
    other = open(path, flags | O_NONBLOCK | O_CLOEXEC);
    CHECK(other >= 0);
    stop = 0;
}

static void join(pthread_t t) {
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
    CHECK_EQ(pthread_join(t, NULL), 0);
    close(other);
}

static void reads(void) {
    static long got;
    pthread_t t;
    CHECK_EQ(pipe(ends), 0);
    open_again(0, O_RDONLY);
    CHECK_EQ(pthread_create(&t, NULL, takes, NULL), 0);
    fin_finish_as(all) {
        fin_async {
            char c[8];
            ssize_t n;
            while ((n = fin_read(ends[0], c, sizeof c)) > 0)
                got += n;
            CHECK_EQ(n, -ECANCELED);
        };
        for (long i = 1; i <= BYTES; i++) {
            CHECK_EQ(fin_write(ends[1], "x", 1), 1);
            while (got + __atomic_load_n(&taken, __ATOMIC_SEQ_CST) < i)
                fin_yield();
        }
        fin_cancel_as(all);
    }
    join(t);
    CHECK_EQ(got + taken, BYTES);
    close(ends[0]);
    close(ends[1]);
}

static void writes(void) {
    static char page[PAGE], rest[PAGE];
    static long sent, received;
    pthread_t t;
    CHECK_EQ(pipe(ends), 0);
    CHECK(fcntl(ends[1], F_SETPIPE_SZ, PAGE) >= PAGE);
    open_again(1, O_WRONLY);
    CHECK_EQ(pthread_create(&t, NULL, fills, NULL), 0);
    fin_finish_as(all) {
        fin_async {
            ssize_t n;
            while ((n = fin_write(ends[1], page, PAGE)) > 0)
                sent += n;
            CHECK_EQ(n, -ECANCELED);
        };
        for (long i = 0; i < BYTES; i++) {
            ssize_t n = fin_read(ends[0], rest, PAGE);
            CHECK(n > 0);
            received += n;
        }
        fin_cancel_as(all);
    }
    join(t);
    CHECK_EQ(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    for (ssize_t n; (n = read(ends[0], rest, PAGE)) > 0;)
        received += n;
    CHECK_EQ(received, sent + given);
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    pid_t child = fork();
    if (child == 0) {
        alarm(50);
        deny(SYS_preadv2, EPERM);
        deny(SYS_pwritev2, EPERM);
        reads();
        writes();
        _exit(0);
    }
    denied_ended(child);
    return 0;
}
