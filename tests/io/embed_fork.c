// SPDX-License-Identifier: BSD-2-Clause
// Forks where the thread sleeps in a loop that is not Fin's: the child has its own, and nothing of its parent's.
#include <fcntl.h>
#include <sys/resource.h>

#include "embed.h"

// Not open_descriptors(): a tool has some of its own, with high numbers, which a child of it may not have.
static int count(void) {
    int n = 0;
    for (int fd = 0; fd < 100; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void of_a_child(void) {
    int status, before = fin_embed_fd(), all = count();
    done = 0;
    fin_finish {
        fin_async_call(sleeps, (void *)5);
        CHECK_EQ(fin_embed_run(), 0);
        pid_t child = fork();
        if (child == 0) {
            int fd;
            in_thread(&fd);
            CHECK_EQ(count(), all);
            _exit(0);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
        loop_until(1);
    }
    CHECK_EQ(fin_embed_fd(), before);
}

// By an AWE, which may have run in fin_embed_run; in the child that goes on, with what is the child's.
static void by_who_ran(void) {
    static pid_t child;
    int status;
    done = 0;
    child = -1;
    fin_finish {
        fin_async_call(sleeps, (void *)5);
        fin_async {
            fin_yield();
            child = fork();
            if (child == 0)
                CHECK_EQ(fin_sleep(FIN_MS), 0);
            done++;
        };
        while (child < 0)
            CHECK_EQ(fin_embed_run(), 0);
        if (child == 0) {
            CHECK_EQ(fin_embed_run(), 0);
            CHECK(fin_embed_fd() >= 0);
            _exit(0);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
        loop_until(2);
    }
}

// A first call of I/O's for which there was nothing has no descriptor of the program's.
static void has_no_io(void) {
    struct rlimit before, few;
    int lowest = dup(0), status;
    close(lowest);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){(rlim_t)lowest, before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    CHECK_EQ(fin_sleep(1), -EMFILE);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(fcntl(0, F_GETFD) < 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

int main(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        has_no_io();
        return 0;
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK(fin_embed_fd() >= 0);
    of_a_child();
    by_who_ran();
    return 0;
}
