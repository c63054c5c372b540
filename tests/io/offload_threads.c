// SPDX-License-Identifier: BSD-2-Clause
// The pool's threads: their number from the environment, none where the system gives none, and then a clear error; a thread
// that ends with work begun and queued waits for the one and takes back the other.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "net.h"

static int begun, done, fd[2];

static void note(void *unused) {
    (void)unused;
    __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
    char c;
    CHECK_EQ(read(fd[0], &c, 1), 1);
    usleep(2000);
    __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
}

static void bounded(void *unused) { CHECK_EQ(fin_offload(note, unused), 0); }
static void forgotten(void *unused) { fin_offload(note, unused); }

static void *ends_early(void *unused) {
    fin_finish {
        for (int i = 0; i < 3; i++)
            fin_async_eager_call(forgotten, NULL);
        while (__atomic_load_n(&begun, __ATOMIC_SEQ_CST) < 1)
            CHECK_EQ(fin_sleep(FIN_US), 0);
        CHECK_EQ(write(fd[1], "xyz", 3), 3);
        pthread_exit(unused);
    }
    return NULL;
}

static void nothing(void *unused) { (void)unused; }

static void is_refused(void *unused) { CHECK_EQ(fin_offload(nothing, unused), -EAGAIN); }

// In a child, so that what is refused is refused to it alone.
static int refused(void) {
    struct rlimit none = {0, 0};
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) // root is not bound by this limit
        return 77;
    CHECK_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
    is_refused(NULL);
    fin_finish {
        for (int i = 0; i < 3; i++)
            fin_async_call(is_refused, NULL);
    }
    return 0;
}

// Work waits for the one thread that there is; with more of them it begins.
static void more_than_before(void) {
    begun = done = 0;
    fin_finish {
        fin_async_call(bounded, NULL);
        fin_async_call(bounded, NULL);
        fin_async_call(bounded, NULL);
        while (__atomic_load_n(&begun, __ATOMIC_SEQ_CST) < 1)
            CHECK_EQ(fin_sleep(FIN_US), 0);
        CHECK_EQ(fin_offload_threads(3), 1);
        while (__atomic_load_n(&begun, __ATOMIC_SEQ_CST) < 3)
            CHECK_EQ(fin_sleep(FIN_US), 0);
        CHECK_EQ(write(fd[1], "123", 3), 3);
    }
    CHECK_EQ(done, 3);
    CHECK_EQ(fin_offload_threads(1), 3);
}

int main(void) {
    int status;
    setenv("FIN_OFFLOAD_THREADS", "2", 1);
    pid_t child = fork();
    if (child == 0)
        _exit(refused());
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
    CHECK_EQ(fin_offload_threads(0), 2);
    stream_pair(fd);
    fin_finish {
        for (int i = 0; i < 5; i++)
            fin_async_call(bounded, NULL);
        CHECK_EQ(fin_sleep(20 * FIN_MS), 0);
        CHECK(__atomic_load_n(&begun, __ATOMIC_SEQ_CST) <= 2);
        CHECK_EQ(write(fd[1], "12345", 5), 5);
    }
    CHECK_EQ(done, 5);
    CHECK_EQ(fin_offload_threads(1), 2);
    CHECK_EQ(fin_offload(nothing, NULL), 0);
    more_than_before();
    for (int i = 0; i < 20; i++) {
        pthread_t t;
        begun = done = 0;
        CHECK_EQ(pthread_create(&t, NULL, ends_early, NULL), 0);
        CHECK_EQ(pthread_join(t, NULL), 0);
        char left[3];
        CHECK_EQ(begun, done); // nothing goes on
        CHECK(begun == 3 || recv(fd[0], left, 3, MSG_DONTWAIT) == 3 - begun);
    }
    return 0;
}
