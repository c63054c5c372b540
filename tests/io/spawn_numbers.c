// SPDX-License-Identifier: BSD-2-Clause
// A child gets the highest numbers that a process may have, where hardly any others are left for what is on the way there.
#include <sys/resource.h>

#include "child.h"

// Two for the report, and a copy of it; a copy of each of two, and /dev/null itself.
enum { LEFT = 6 };

static bool is_free(int fd) { return fcntl(fd, F_GETFD) < 0; }

int main(void) {
    struct rlimit limit, before;
    struct fin_process p;
    int status;
    char script[100];
    if (on_valgrind())
        SKIP("valgrind keeps the limit of descriptors to itself");
    CHECK_EQ(start_shell(&p, ":"), 0); // begins the thread's I/O
    CHECK_EQ(fin_wait(&p, NULL), 0);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    int highest = 3;
    for (int left = 0; left < LEFT || !(is_free(highest) && is_free(highest - 1)); highest++)
        left += is_free(highest - 1);
    limit = (struct rlimit){(rlim_t)highest + 1, before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    snprintf(script, sizeof script, "test -e /dev/fd/%d && test -e /dev/fd/%d && ! test -e /dev/fd/%d", highest, highest - 1,
             highest - 2);
    struct fin_spawn how = SHELL(script);
    how.fds = (struct fin_spawn_fd[]){{highest, 0}, {highest - 1, FIN_SPAWN_NULL}, {highest + 1, 0}};
    how.fd_count = 2;
    CHECK_EQ(fin_spawn(&p, &how), 0);
    CHECK_EQ(fin_wait(&p, &status), 0);
    CHECK_EQ(status, 0);
    how.fd_count = 3;
    CHECK_EQ(fin_spawn(&p, &how), -EMFILE); // not that many are left
    limit.rlim_cur += 8;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    how.fds = &(struct fin_spawn_fd){highest + 9, 0};
    how.fd_count = 1;
    CHECK_EQ(fin_spawn(&p, &how), -EBADF); // one too high
    return 0;
}
