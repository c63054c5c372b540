// SPDX-License-Identifier: BSD-2-Clause
// Where a filter, or a kernel that is not quite Linux, lacks the newer calls for processes: older ones do, or the error says
// so.
#include "child.h"

#include <linux/sched.h>
#include <sys/resource.h>

#include "deny.h"

static void works(void) {
    struct fin_process p;
    char text[16];
    int status, extra = dup(0);
    // Descriptors that nobody named are not there.
    struct fin_spawn list = SHELL("(true <&$0) 2>/dev/null && echo there");
    char number[8];
    snprintf(number, sizeof number, "%d", extra);
    list.argv = (const char *const[]){"sh", "-c", list.argv[2], number, NULL};
    CHECK_EQ(fin_run(&list, NULL, 0, text, sizeof text, NULL), 0);
    close(extra);
    CHECK_EQ(start_shell(&p, "exec sleep 1000"), 0);
    CHECK_EQ(fin_kill(&p, SIGTERM), 0);
    CHECK_EQ(fin_wait(&p, &status), 0);
    CHECK_EQ(WTERMSIG(status), SIGTERM);
    CHECK_EQ(fin_kill(&p, SIGTERM), -ESRCH);
    CHECK_EQ(fin_spawn(&p, &(struct fin_spawn){.path = "/nowhere", .argv = ARGV("x")}), -ENOENT);
    no_child_left();
}

// Nor does /proc say which descriptors there are: folders cannot be read.
static void works_without_proc(void) {
    struct rlimit most;
    pid_t child = fork();
    if (child == 0) {
        CHECK_EQ(getrlimit(RLIMIT_NOFILE, &most), 0);
        most.rlim_cur = 256; // or it takes a while
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &most), 0);
        deny_if(SYS_openat, 2, HAS, O_DIRECTORY, EACCES);
#ifdef SYS_open
        deny_if(SYS_open, 1, HAS, O_DIRECTORY, EACCES);
#endif
        works();
        _exit(0);
    }
    ended_well(child);
}

// A child that had its parent's handlers, or ran one of them, is none: it is not started.
static void not_started(unsigned call) {
    struct fin_process p;
    pid_t child = fork();
    if (child == 0) {
        deny(call, EPERM);
        CHECK_EQ(fin_spawn(&p, &(struct fin_spawn)SHELL("exit 0")), -EPERM);
        no_child_left();
        _exit(0);
    }
    ended_well(child);
}

static void signals_cannot_be_set(void) {
    not_started(SYS_rt_sigaction);
    not_started(SYS_rt_sigprocmask);
}

int main(void) {
    struct fin_process p;
    if (on_valgrind())
        SKIP("valgrind needs the calls that are denied here for itself");
    works();
    deny(SYS_close_range, ENOSYS);
    deny(SYS_pidfd_send_signal, ENOSYS);
    works();
    deny(SYS_pidfd_send_signal, EPERM); // what the filter before this one says is not heard any more
    works();
    works_without_proc();
    signals_cannot_be_set();
    deny_if(SYS_clone, 0, HAS, CLONE_PIDFD, EINVAL);
    works();
    int before = open_descriptors();
    deny(SYS_pidfd_open, ENOSYS);
    CHECK_EQ(fin_spawn(&p, &(struct fin_spawn)SHELL("exit 0")), -ENOSYS);
    CHECK_EQ(open_descriptors(), before);
    no_child_left();
    return 0;
}
