// SPDX-License-Identifier: BSD-2-Clause
// fin_sendfile makes a pipe, which gets a number that another thread has closed in that moment: this is nothing to it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "net.h"

static bool armed;

static void *closes(void *fd) {
    CHECK_EQ(fin_close((int)(intptr_t)fd), 0);
    return NULL;
}

// In place of libc's, for the library, too.
int pipe2(int ends[2], int flags) {
    if (armed) {
        pthread_t t;
        int fd = open("/dev/null", O_RDONLY);
        armed = false;
        CHECK_EQ(pthread_create(&t, NULL, closes, (void *)(intptr_t)fd), 0);
        pthread_join(t, NULL);
        int r = (int)syscall(SYS_pipe2, ends, flags);
        CHECK(r != 0 || ends[0] == fd);
        return r;
    }
    return (int)syscall(SYS_pipe2, ends, flags);
}

int main(void) {
    int fd[2], file = nameless_file();
    char got[8];
    off_t at = 0;
    CHECK_EQ(write(file, "abcdefgh", 8), 8);
    stream_pair(fd);
    CHECK_EQ(fin_sleep(1), 0); // makes what the thread waits with
    armed = true;
    CHECK_EQ(fin_sendfile(fd[1], file, &at, 8), 8);
    CHECK(!armed);
    CHECK_EQ(recv(fd[0], got, sizeof got, MSG_DONTWAIT), 8);
    CHECK(memcmp(got, "abcdefgh", 8) == 0);
    return 0;
}
