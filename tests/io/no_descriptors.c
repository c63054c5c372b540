// SPDX-License-Identifier: BSD-2-Clause
// A thread that cannot get what it waits with: the calls say so, a block with a timeout is cancelled at once, what it has it
// can close, and it works as soon as it can.
#include <fcntl.h>
#include <sys/resource.h>

#include "net.h"

// As a process has it that has put itself into a sandbox: what it has works.
static void no_more(const struct rlimit *before) {
    struct rlimit none = *before;
    static char c;
    int fd[2];
    none.rlim_cur = 0;
    stream_pair(fd);
    int in = fd[0];
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    fin_finish {
        fin_async {
            CHECK_EQ(fin_recv(in, &c, 1, 0), 1);
            CHECK_EQ(c, 'x');
        };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_send(fd[1], "x", 1, 0), 1);
        CHECK_EQ(fin_sleep(0), 0);
        CHECK_EQ(fin_sleep(3 * FIN_MS), 0);
    }
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, before), 0);
    close(fd[0]);
    close(fd[1]);
}

// What it was given can be given back, and that is how there is room again.
static void closes(void) {
    int fd = dup(2);
    CHECK(fd >= 0);
    CHECK_EQ(fin_sleep(1), -EMFILE);
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_close(fd), -ECANCELED);
    }
    CHECK_EQ(fcntl(fd, F_GETFD), 0);
    CHECK_EQ(fin_close_nc(fd), 0);
    CHECK_EQ(fcntl(fd, F_GETFD), -1);
    CHECK_EQ(fin_close(fd), -EBADF);
    CHECK_EQ(fin_close_nc(-1), -EBADF);
}

// A server that simply goes on does not spin, keeps none of its thread from running, and can be cancelled.
static void accepts(int listener) {
    fin_shared int turns = 0, r = 0;
    uint64_t start = fin_now();
    fin_finish {
        fin_async { r = fin_accept(listener, NULL, NULL); };
        while (r == 0) {
            fin_yield();
            turns++;
        }
    }
    CHECK_EQ(r, -EMFILE);
    CHECK(fin_now() - start >= 100 * FIN_MS);
    CHECK(turns > 4 && turns < 1000);
    r = 0;
    fin_finish {
        fin_async { r = fin_accept(listener, NULL, NULL); };
        fin_yield();
        fin_cancel();
    }
    CHECK_EQ(r, -ECANCELED);
}

int main(void) {
    struct rlimit before, none;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    fin_shared bool cancelled = false;
    struct sockaddr_in address;
    int listener = tcp_listen(&address, 1);
    none = (struct rlimit){.rlim_cur = (rlim_t)listener + 1, .rlim_max = before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    accepts(listener);
    close(listener);
    for (int allowed = 0; allowed < 2; allowed++) {
        none = (struct rlimit){.rlim_cur = (rlim_t)(3 + allowed), .rlim_max = before.rlim_max};
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
        CHECK_EQ(fin_sleep(1), -EMFILE);
        CHECK_EQ(fin_write(2, "", 0), -EMFILE);
        fin_timeout(3600 * FIN_S) {
            fin_async { cancelled = fin_cancelled(); };
        }
        CHECK(cancelled);
        CHECK(fin_timed_out());
    }
    closes();
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    CHECK_EQ(fin_sleep(1), 0);
    CHECK_EQ(fin_write(2, "", 0), 0);
    no_more(&before);
    return 0;
}
