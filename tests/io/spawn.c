// SPDX-License-Identifier: BSD-2-Clause
// What a child has: arguments, environment, directory, signals, process group, and the descriptors that it was given only,
// also where they change places. What cannot be started is an error of the call, and leaves neither process nor descriptor.
#include <limits.h>

#include "child.h"

static char text[4096];

static const char *output_of(struct fin_spawn how) {
    int status;
    ssize_t n = fin_run(&how, NULL, 0, text, sizeof text - 1, &status);
    if (n == -ENOSYS)
        SKIP("no pidfds here");
    CHECK(n >= 0);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    text[n] = 0;
    return text;
}

static void is(const char *got, const char *expected) {
    if (strcmp(got, expected) != 0)
        fprintf(stderr, "got: %s\n", got);
    CHECK(strcmp(got, expected) == 0);
}

static void errors(void) {
    struct fin_process p;
    struct fin_spawn how = {.path = "/nowhere/at/all", .argv = ARGV("x")};
    CHECK_EQ(fin_spawn(&p, &how), -ENOENT);
    how.path = "fin-no-such-program";
    CHECK_EQ(fin_spawn(&p, &how), -ENOENT);
    how.path = "/etc/passwd";
    CHECK_EQ(fin_spawn(&p, &how), -EACCES);
    how.path = "/bin/true";
    how.directory = "/nowhere";
    CHECK_EQ(fin_spawn(&p, &how), -ENOENT);
    how.directory = NULL;
    how.fds = &(struct fin_spawn_fd){5, 999};
    how.fd_count = 1;
    CHECK_EQ(fin_spawn(&p, &how), -EBADF);
    int next = dup(0); // numbers that the call itself uses meanwhile
    CHECK(next >= 0);
    close(next);
    for (int own = next; own < next + 8; own++) {
        how.fds = &(struct fin_spawn_fd){9, own};
        CHECK(fcntl(own, F_GETFD) >= 0 || fin_spawn(&p, &how) == -EBADF);
    }
    while (fcntl(next, F_GETFD) >= 0) // the first one beyond what the child gets
        next++;
    how.fds = (struct fin_spawn_fd[]){{next - 1, 0}, {next - 1, next}};
    how.fd_count = 2;
    CHECK_EQ(fin_spawn(&p, &how), -EBADF);
    how.fd_count = 1;
    how.fds = &(struct fin_spawn_fd){-5, 1};
    CHECK_EQ(fin_spawn(&p, &how), -EINVAL);
    how.fds = &(struct fin_spawn_fd){INT_MAX, 1}; // no process may have as many
    CHECK_EQ(fin_spawn(&p, &how), -EBADF);
    CHECK_EQ(fin_spawn(&p, &(struct fin_spawn){.path = "/bin/true"}), -EINVAL);
    CHECK_EQ(fin_spawn(&p, &(struct fin_spawn){.path = "/bin/true", .argv = ARGV("true"), .flags = 8}), -EINVAL);
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_spawn(&p, &(struct fin_spawn)SHELL("exit 0")), -ECANCELED);
    }
    no_child_left();
}

static void descriptors(void) {
    int a[2], b[2];
    CHECK_EQ(pipe(a), 0);
    CHECK_EQ(pipe(b), 0);
    CHECK_EQ(write(a[1], "a\n", 2), 2);
    CHECK_EQ(write(b[1], "b\n", 2), 2);
    // Each takes the other's number.
    struct fin_spawn how = SHELL("read x <&$A; read y <&$B; echo $x$y");
    char first[16], second[16];
    snprintf(first, sizeof first, "A=%d", b[0]);
    snprintf(second, sizeof second, "B=%d", a[0]);
    const char *const environment[] = {first, second, NULL};
    if (a[0] > 9 || b[0] > 9)
        SKIP("the shell knows descriptors of one digit only");
    how.envp = environment;
    how.fds = (struct fin_spawn_fd[]){{b[0], a[0]}, {a[0], b[0]}};
    how.fd_count = 2;
    is(output_of(how), "ab\n");

    // 3 and above only what was named; a[1] and the like are not close-on-exec.
    struct fin_spawn list = SHELL("for i in 3 4 5 6 7 8 9; do { true <&$i; } 2>/dev/null && echo $i; done; :");
    list.fds = &(struct fin_spawn_fd){9, FIN_SPAWN_NULL};
    list.fd_count = 1;
    is(output_of(list), "9\n");
    list.fd_count = 0;
    list.flags = FIN_SPAWN_INHERIT;
    char number[8];
    snprintf(number, sizeof number, "%d\n", a[1]);
    CHECK(strstr(output_of(list), number));
    for (int i = 0; i < 2; i++) {
        close(a[i]);
        close(b[i]);
    }
}

static void surroundings(void) {
    is(output_of((struct fin_spawn){.path = "echo", .argv = ARGV("echo", "a b", "c")}), "a b c\n");
    struct fin_spawn how = SHELL("echo $FIN_X; pwd");
    how.envp = ARGV("FIN_X=y");
    how.directory = "/usr";
    is(output_of(how), "y\n/usr\n");

    // Ignored and blocked here, neither there.
    sigset_t mask, before;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigprocmask(SIG_BLOCK, &mask, &before);
    signal(SIGUSR2, SIG_IGN);
    const char *signals =
        "while read name value; do case $name in SigBlk:|SigIgn:) echo $value;; esac; done </proc/self/status";
    struct fin_spawn status = SHELL(signals);
    is(output_of(status), "0000000000000000\n0000000000000000\n");
    status.mask = &mask;
    is(output_of(status), "0000000000000200\n0000000000000000\n");
    signal(SIGUSR2, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);

    struct fin_process p;
    struct fin_spawn group = {.path = "sleep", .argv = ARGV("sleep", "1000"), .flags = FIN_SPAWN_GROUP};
    CHECK_EQ(fin_spawn(&p, &group), 0);
    CHECK_EQ(getpgid(p.pid), p.pid);
    CHECK_EQ(getsid(p.pid), getsid(0));
    CHECK_EQ(kill(-p.pid, SIGKILL), 0);
    CHECK_EQ(fin_wait(&p, NULL), 0);
    group.flags = FIN_SPAWN_SESSION;
    CHECK_EQ(fin_spawn(&p, &group), 0);
    CHECK_EQ(getsid(p.pid), p.pid);
    CHECK_EQ(fin_kill(&p, SIGKILL), 0);
    CHECK_EQ(fin_wait(&p, NULL), 0);
}

int main(void) {
    output_of((struct fin_spawn)SHELL(":"));
    int before = open_descriptors();
    errors();
    descriptors();
    surroundings();
    CHECK_EQ(open_descriptors(), before);
    no_child_left();
    return 0;
}
