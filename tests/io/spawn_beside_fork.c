// SPDX-License-Identifier: BSD-2-Clause
// Another thread forks in the midst of fin_spawn, and its child has copies of all descriptors, for ever: fin_spawn does not
// wait for that one.
#define _GNU_SOURCE
#include <sys/syscall.h>

#include "child.h"

extern void __asan_init(void) __attribute__((weak));

static pid_t bystander;
static bool begun;

// The library's call comes here.
int pipe2(int ends[2], int flags) {
    int r = (int)syscall(SYS_pipe2, ends, flags);
    if (begun && bystander == 0 && (bystander = fork()) == 0)
        for (;;)
            pause();
    return r;
}

static bool children_can_share_memory(void) {
    static volatile bool shared;
    pid_t child = vfork();
    if (child == 0) {
        shared = true;
        _exit(0);
    }
    ended_well(child);
    return shared;
}

int main(void) {
    struct fin_process p;
    int status;
    if (ON_TSAN || __asan_init || on_valgrind() || !children_can_share_memory())
        SKIP("a child has a copy of the memory here: what it reports is waited for");
    alarm(20);
    CHECK(fin_io_backend() != NULL);
    begun = true;
    CHECK_EQ(fin_spawn(&p, &(struct fin_spawn){.path = "true", .argv = ARGV("true")}), 0);
    CHECK(bystander > 0);
    CHECK_EQ(fin_wait(&p, &status), 0);
    CHECK_EQ(status, 0);
    CHECK_EQ(fin_spawn(&p, &(struct fin_spawn){.path = "/nowhere", .argv = ARGV("x")}), -ENOENT);
    CHECK_EQ(kill(bystander, SIGKILL), 0);
    CHECK_EQ(waitpid(bystander, NULL, 0), bystander);
    no_child_left();
    return 0;
}
