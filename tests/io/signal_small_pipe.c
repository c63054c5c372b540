// SPDX-License-Identifier: BSD-2-Clause
// A user who has so many pipes that the system makes the next ones small: fewer real-time signals are kept, further ones are
// counted, and none takes the place of an ordinary signal; when they have been read, there is room again.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "child.h"

enum { NOBODY = 65534, PIPES = 1100, SENT = 1000, LEAST = 64 };

static struct fin_signals s;
static int queued, ordinary;

static bool read_one(void) {
    struct fin_signal_info i;
    int r = 0;
    fin_timeout(20 * FIN_MS) { r = fin_signals_next(&s, &i); }
    if (r == 0)
        *(i.signal == SIGRTMIN ? &queued : &ordinary) += 1;
    return r == 0;
}

// Under qemu a signal may come later than what sent it returns.
static void read_all(uint64_t lost) {
    queued = ordinary = 0;
    while (ordinary == 0 || queued + (fin_signals_lost(&s) - lost) < SENT)
        read_one();
    CHECK(!read_one());
}

static void send_many(void) {
    for (int i = 0; i < SENT; i++)
        CHECK_EQ(sigqueue(getpid(), SIGRTMIN, (union sigval){0}), 0);
    CHECK_EQ(kill(getpid(), SIGUSR1), 0);
}

static void use_up_pipes(void) {
    int p[2];
    struct rlimit files;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
    if (geteuid() == 0 && setuid(NOBODY) != 0)
        SKIP("no other user here");
    for (int i = 0; i < PIPES; i++)
        if (pipe(p) != 0)
            SKIP("not so many descriptors");
    if (fcntl(p[0], F_GETPIPE_SZ) > 2 * sysconf(_SC_PAGESIZE))
        SKIP("this system makes no small pipes");
}

int main(void) {
    sigset_t set;
    use_up_pipes();
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigaddset(&set, SIGUSR1);
    CHECK_EQ(fin_signals_open(&s, &set), 0);
    for (int i = 0; i < 3; i++) {
        uint64_t lost = fin_signals_lost(&s);
        send_many();
        read_all(lost);
        CHECK_EQ(ordinary, 1);
        CHECK(queued >= LEAST);
        CHECK_EQ(queued + (fin_signals_lost(&s) - lost), SENT);
    }
    fin_signals_close(&s);
    return 0;
}
