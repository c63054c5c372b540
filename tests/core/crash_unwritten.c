// SPDX-License-Identifier: BSD-2-Clause
// Where a report of a crash cannot be written the program ends as it would have with the report.
#define _GNU_SOURCE // pipe2
#include <fin.h>

#include <fcntl.h>

#include "process.h"

static int *volatile nowhere = NULL;

static void crashes(void *unused) {
    (void)unused;
    *nowhere = 1;
}

static void aborts(void *unused) {
    (void)unused;
    abort();
}

static int __attribute__((noinline)) recurse(long depth) {
    volatile char used[200];
    used[depth % 200] = 1;
    return depth < 1000000000 ? recurse(depth + 1) + used[depth % 200] : 0;
}

static void overflows(void *unused) {
    (void)unused;
    recurse(0);
}

static void overwritten(void *unused) {
    (void)unused;
    fin_self->current = (struct fin_finish_block *)8;
    *nowhere = 1;
}

static void ends_in_a_block(void *unused) {
    (void)unused;
    fin_finish {
        fin_cont_end();
    }
}

static void to_nothing(void) { close(STDERR_FILENO); }

static void to_a_full_disk(void) {
    int fd = open("/dev/full", O_WRONLY);
    CHECK(fd >= 0);
    dup2(fd, STDERR_FILENO);
}

static void to_a_left_pipe(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
}

static void to_a_full_pipe(void) {
    int ends[2];
    CHECK(pipe2(ends, O_NONBLOCK) == 0);
    dup2(ends[1], STDERR_FILENO);
    while (write(STDERR_FILENO, "x", 1) > 0) {
    }
}

static void check(void (*stderr_goes)(void), void (*ends)(void *), int expected) {
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        signal(SIGPIPE, SIG_DFL);
        stderr_goes();
        fin_finish {
            fin_async_eager_call(ends, NULL);
        }
        _Exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), expected);
}

int main(void) {
#if FIN_SANITIZED
    SKIP("a sanitizer reports crashes itself");
#endif
    void (*const where[])(void) = {to_nothing, to_a_full_disk, to_a_left_pipe, to_a_full_pipe};
    for (size_t i = 0; i < sizeof where / sizeof *where; i++) {
        check(where[i], crashes, SIGSEGV);
        check(where[i], overflows, SIGSEGV);
        check(where[i], overwritten, SIGSEGV);
        check(where[i], aborts, SIGABRT);
        check(where[i], ends_in_a_block, SIGABRT);
    }
    return 0;
}
