// SPDX-License-Identifier: BSD-2-Clause
// A FIFO is opened with a continuation: where nobody is at its other end that either says so or waits until it is cancelled.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

static struct fin_on on;
static char path[64];
static int result;

static void opened(void *state, int fd) {
    (void)state;
    result = fd;
    fin_cont_end();
}

static void opens(void *state, int r) {
    CHECK_EQ(r, 0);
    fin_openat_on(&on, AT_FDCWD, path, *(int *)state | O_CLOEXEC, 0600, opened, NULL, 0);
}

static void open_with(int flags, uint64_t time) {
    fin_timeout(time) {
        CHECK(fin_async_cont(opens, &flags, sizeof flags) != NULL);
    }
}

int main(void) {
    static const int kinds[] = {O_RDONLY, O_WRONLY, O_WRONLY | O_CREAT, O_RDONLY | O_TRUNC};
    snprintf(path, sizeof path, "fin-on-fifo-%d", (int)getpid());
    CHECK_EQ(mkfifo(path, 0600), 0);
    alarm(30);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        open_with(kinds[i], 5 * FIN_MS);
        if (kinds[i] == O_WRONLY)
            CHECK(result == -ENXIO || result == -ECANCELED);
        else
            CHECK(result >= 0 || result == -ENXIO || result == -ECANCELED);
        if (result >= 0)
            close(result);
    }
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    CHECK(reader >= 0);
    open_with(O_WRONLY, 20000 * FIN_MS); // for one that finds a reader it may take any time on a busy machine
    CHECK(result >= 0);
    CHECK_EQ(fcntl(result, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_WRONLY);
    close(result);
    close(reader);
    unlink(path);
    return 0;
}
