// SPDX-License-Identifier: BSD-2-Clause
// Programs as functions from bytes to bytes: more than a pipe holds both ways, several at once, a program that does not
// read, a pipeline of two.
#include "child.h"

#include <dlfcn.h>

enum { SIZE = 1 << 20 };

static char in[SIZE], out[SIZE + 1];

static void large(void) {
    unsigned seed = 1;
    for (int i = 0; i < SIZE; i++)
        in[i] = (char)next_random(&seed);
    struct fin_spawn cat = {.path = "cat", .argv = ARGV("cat")};
    ssize_t n = fin_run(&cat, in, SIZE, out, sizeof out, NULL);
    if (n == -ENOSYS)
        SKIP("no pidfds here");
    CHECK_EQ(n, SIZE);
    CHECK(memcmp(in, out, SIZE) == 0);
    memset(out, 1, sizeof out);
    CHECK_EQ(fin_run(&cat, in, SIZE, out, 1000, NULL), SIZE); // as much as there was; as much as there is room is kept
    CHECK(memcmp(in, out, 1000) == 0);
    CHECK_EQ(out[1000], 1);
    int status;
    CHECK_EQ(fin_run(&(struct fin_spawn){.path = "false", .argv = ARGV("false")}, in, SIZE, out, 0, &status), 0);
    CHECK_EQ(WEXITSTATUS(status), 1);
}

// What it says goes to a file.
static void errors_apart(void) {
    char said[16];
    int file = nameless_file();
    struct fin_spawn_fd to_file = {2, file};
    struct fin_spawn both = SHELL("echo out; echo err >&2");
    both.fds = &to_file;
    both.fd_count = 1;
    CHECK_EQ(fin_run(&both, NULL, 0, out, sizeof out, NULL), 4);
    CHECK(memcmp(out, "out\n", 4) == 0);
    CHECK_EQ(pread(file, said, sizeof said, 0), 4);
    CHECK(memcmp(said, "err\n", 4) == 0);
    close(file);
}

static void several(void) {
    static int done;
    fin_finish {
        for (int i = 0; i < 8; i++) {
            fin_async {
                char text[8];
                struct fin_spawn sort = SHELL("sort -n | tail -1");
                ssize_t n = fin_run(&sort, "3\n20\n1\n", 7, text, sizeof text, NULL);
                CHECK_EQ(n, 3);
                CHECK(memcmp(text, "20\n", 3) == 0);
                done++;
            };
        }
    }
    CHECK_EQ(done, 8);
}

static void pipeline(void) {
    int between[2];
    struct fin_process p;
    char text[16];
    CHECK_EQ(pipe2(between, O_CLOEXEC), 0);
    struct fin_spawn seq = {.path = "seq", .argv = ARGV("seq", "1000")};
    seq.fds = &(struct fin_spawn_fd){1, between[1]};
    seq.fd_count = 1;
    CHECK_EQ(fin_spawn(&p, &seq), 0);
    close(between[1]);
    struct fin_spawn count = SHELL("wc -l <&3");
    count.fds = &(struct fin_spawn_fd){3, between[0]};
    count.fd_count = 1;
    ssize_t n = fin_run(&count, NULL, 0, text, sizeof text, NULL);
    close(between[0]);
    CHECK_EQ(n, 5);
    CHECK(memcmp(text, "1000\n", 5) == 0);
    CHECK_EQ(fin_wait(&p, NULL), 0);
}

static int by_number;

// In place of libc's, for the library.
int waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
    int (*real)(idtype_t, id_t, siginfo_t *, int);
    *(void **)&real = dlsym(RTLD_NEXT, "waitid");
    by_number += type == P_PID;
    return real(type, id, info, options);
}

// Whose end somebody else hears of has been reaped when it is over: its number may be that of another child.
static void reaped_by_another(void) {
    signal(SIGCHLD, SIG_IGN);
    fin_timeout(20 * FIN_MS) {
        CHECK_EQ(fin_run(&(struct fin_spawn){.path = "sleep", .argv = ARGV("sleep", "60")}, NULL, 0, NULL, 0, NULL),
                 -ECANCELED);
    }
    signal(SIGCHLD, SIG_DFL);
    CHECK_EQ(by_number, 0);
}

int main(void) {
    large();
    errors_apart();
    several();
    pipeline();
    reaped_by_another();
    no_child_left();
    struct fin_spawn_fd bad = {1, 1};
    CHECK_EQ(
        fin_run(&(struct fin_spawn){.path = "cat", .argv = ARGV("cat"), .fds = &bad, .fd_count = 1}, NULL, 0, NULL, 0, NULL),
        -EINVAL);
    CHECK_EQ(fin_run(&(struct fin_spawn){.path = "cat", .argv = ARGV("cat"), .fd_count = 1}, NULL, 0, NULL, 0, NULL),
             -EINVAL);
    return 0;
}
