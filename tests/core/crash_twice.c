// SPDX-License-Identifier: BSD-2-Clause
// While a thread that has crashed writes its trace another one crashes: that does not end the process before the trace is
// whole. It goes to a pipe that is full at first.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#include <fin.h>

#include "process.h"

enum { MARKS = 1000 };
static int *volatile nowhere = NULL;
static int go[2], waits[2];
static __thread bool is_second;

// In place of libc's: says when the second of them waits for the first.
int nanosleep(const struct timespec *time, struct timespec *left) {
    if (is_second)
        CHECK_EQ(write(waits[1], "x", 1), 1);
    is_second = false;
    return clock_nanosleep(CLOCK_MONOTONIC, 0, time, left) == 0 ? 0 : -1;
}

static void *crashes_too(void *unused) {
    char c;
    CHECK_EQ(read(go[0], &c, 1), 1);
    is_second = true;
    *nowhere = 2;
    return unused;
}

static void crashes(const char *trace) {
    pthread_t t;
    CHECK_EQ(fin_trace_start(trace), 0);
    CHECK_EQ(pthread_create(&t, NULL, crashes_too, NULL), 0);
    for (int i = 0; i < MARKS; i++)
        fin_trace_mark("a name that is one");
    fin_finish {
        fin_async { *nowhere = 1; };
    }
}

static int marks_in(const char *text) {
    int n = 0;
    for (; (text = strstr(text, "a name that is one\",\"s\":\"t\"},\n")); text++)
        n++;
    return n;
}

// All that comes until the process has ended, with what status.
static int read_to_end(pid_t child, int from, char *text, size_t size) {
    int status = 0;
    size_t length = 0;
    for (bool ended = false; !ended; usleep(100)) {
        ended = waitpid(child, &status, WNOHANG) == child;
        for (ssize_t n; (n = read(from, text + length, size - 1 - length)) > 0;)
            length += (size_t)n;
    }
    text[length] = 0;
    return status;
}

int main(void) {
#if FIN_SANITIZED
    SKIP("a sanitizer reports crashes itself");
#endif
    static char text[1 << 20];
    char c, folder[] = "/tmp/fin-crash-XXXXXX", path[64], said[512];
    int report[2];
    CHECK(mkdtemp(folder) && pipe(report) == 0 && pipe(go) == 0 && pipe(waits) == 0);
    snprintf(path, sizeof path, "%s/trace", folder);
    CHECK_EQ(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDWR | O_NONBLOCK);
    CHECK(reader >= 0 && fcntl(reader, F_SETPIPE_SZ, 4096) >= 4096);
    pid_t child = fork();
    if (child == 0) {
        dup2(report[1], STDERR_FILENO);
        crashes(path);
        _exit(5);
    }
    CHECK(read(report[0], said, sizeof said) > 0); // what is held up now is the trace
    CHECK_EQ(write(go[1], "x", 1), 1);
    close(waits[1]);
    CHECK_EQ(read(waits[0], &c, 1), 1); // it would be 0 if the other one's crash had ended the process
    int status = read_to_end(child, reader, text, sizeof text);
    unlink(path);
    rmdir(folder);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGSEGV);
    CHECK_EQ(marks_in(text), MARKS);
    return 0;
}
