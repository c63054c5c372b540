// SPDX-License-Identifier: BSD-2-Clause
// What the ring could not do is tried again in another way; not where another thread has closed the descriptor meanwhile,
// with fin_close, and another file has got its number.
#define _GNU_SOURCE
#include <fcntl.h>
#include <fin/stats.h>
#include <pthread.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/uio.h>

#include "net.h"

static int number, result, next[2], leased = -1;
static bool over;
static char got[16], folders[2][32];

static void *close_it(void *unused) {
    CHECK_EQ(fin_close_nc(number), 0);
    return unused;
}

// The call is over for the kernel, and who made it has not heard of that yet. False: he has.
static bool closed_between(const struct fin_stats *before) {
    struct fin_stats now;
    pthread_t t;
    for (fin_stats(&now); !over && now.completions == before->completions; fin_stats(&now))
        fin_yield();
    if (over || now.requests != before->requests + 1)
        return false;
    CHECK_EQ(pthread_create(&t, NULL, close_it, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    return true;
}

static bool fails(void (*fn)(void *), void (*replace)(void)) {
    fin_shared bool meanwhile = false;
    struct fin_stats before;
    fin_stats(&before);
    over = false;
    fin_finish {
        fin_async_call(fn, NULL);
        meanwhile = closed_between(&before);
        if (meanwhile)
            replace();
        else
            fcntl(leased, F_SETLEASE, F_UNLCK);
    }
    CHECK(!meanwhile || result == -EBADF);
    return meanwhile;
}

// An inotify cannot tell whether it would wait: it is asked whether it is ready.
static void reads(void *unused) {
    struct iovec v = {got, sizeof got};
    (void)unused;
    result = (int)fin_preadv2(number, &v, 1, -1, RWF_NOWAIT);
    over = true;
}

static void by_pipe(void) {
    CHECK_EQ(pipe(next), 0);
    CHECK_EQ(next[0], number);
    CHECK_EQ(write(next[1], "abc", 3), 3);
}

static void a_read(void) {
    number = inotify_init1(IN_CLOEXEC);
    CHECK(number >= 0);
    if (fails(reads, by_pipe)) {
        CHECK_EQ(read(next[0], got, sizeof got), 3);
        close(next[1]);
    }
    close(number);
}

// Without waiting it fails, because of the lease.
static void opens(void *unused) {
    (void)unused;
    result = fin_openat(number, "file", O_RDWR, 0);
    over = true;
}

static void by_folder(void) {
    CHECK_EQ(open(folders[1], O_RDONLY | O_DIRECTORY), number);
    fcntl(leased, F_SETLEASE, F_UNLCK);
}

static int make(int i) {
    strcpy(folders[i], "/tmp/fin-retried-XXXXXX");
    CHECK(mkdtemp(folders[i]) != NULL);
    int folder = open(folders[i], O_RDONLY | O_DIRECTORY);
    CHECK(folder >= 0);
    int file = openat(folder, "file", O_RDWR | O_CREAT, 0600);
    CHECK(file >= 0);
    close(folder);
    return file;
}

static void an_open(void) {
    leased = make(0);
    close(make(1));
    number = open(folders[0], O_RDONLY | O_DIRECTORY);
    CHECK(number >= 0);
    if (fcntl(leased, F_SETLEASE, F_WRLCK) == 0)
        fails(opens, by_folder);
    close(leased);
    for (int i = 0; i < 2; i++) {
        int folder = open(folders[i], O_RDONLY | O_DIRECTORY);
        unlinkat(folder, "file", 0);
        close(folder);
        rmdir(folders[i]);
    }
    close(number);
}

int main(void) {
    if (on_epoll())
        SKIP("without io_uring nothing comes between two attempts");
    if (ON_TSAN)
        SKIP("to use what another thread closes is for TSan to report");
    signal(SIGIO, SIG_IGN);
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    a_read();
    an_open();
    return 0;
}
