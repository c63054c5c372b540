// SPDX-License-Identifier: BSD-2-Clause
// The child of a fork does not keep what its parent reaps abandoned processes with, and reaps its own.
#include "child.h"

static int epolls(void) {
    char path[300], name[64];
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    CHECK(d);
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
        ssize_t length = readlink(path, name, sizeof name - 1);
        name[length > 0 ? length : 0] = '\0';
        n += strcmp(name, "anon_inode:[eventpoll]") == 0;
    }
    closedir(d);
    return n;
}

// And waits until that has been reaped, by a thread which then sleeps: a child would wait for ever for what GCC 12's ASan
// has locked while a thread begins.
static void abandon_one(void) {
    struct fin_process p;
    siginfo_t ended;
    CHECK_EQ(start_shell(&p, ":"), 0);
    CHECK_EQ(fin_abandon(&p), 0);
    while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0)
        usleep(100);
    CHECK_EQ(errno, ECHILD);
}

int main(void) {
    int before = epolls();
    skip_without_forks_of_threads();
    abandon_one();
    CHECK_EQ(epolls(), before + 1);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_EQ(epolls(), before);
        abandon_one();
        CHECK_EQ(epolls(), before + 1);
        _exit(0);
    }
    ended_well(child);
    return 0;
}
