// SPDX-License-Identifier: BSD-2-Clause
// A process forks while an AWE is in the middle of a call that waits for nothing at that moment: it lets others run before
// it is made, or is about to be tried again. In the child it stays there until it is cancelled, takes nothing that is the
// parent's, and is not in the way of the child's own I/O.
#define _GNU_SOURCE
#include <fcntl.h>
#include <fin/fixed.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "net.h"

enum { MANY = 300, TURNS = 66, UNTOLD = 1000 }; // more calls than a ring has entries; one in 64 lets others run

static int pair[2], full[2], calls, result;
static bool stop;
static char big[1 << 16];

static void drain(int fd) {
    while (recv(fd, big, sizeof big, MSG_DONTWAIT) > 0) {
    }
}

// In the child, where others may run first.
static void own_io(void) {
    static int own[2];
    char c;
    stream_pair(own);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(fin_send(own[0], "x", 1, 0), 1);
        CHECK_EQ(fin_recv(own[1], &c, 1, 0), 1);
    }
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    fin_finish {
        fin_async { CHECK_EQ(fin_poll(own[1], POLLIN), POLLIN); };
        fin_yield();
        CHECK_EQ(fin_send(own[0], "y", 1, 0), 1);
    }
}

static int opens(void) { return fin_openat(AT_FDCWD, "/", O_RDONLY, 0); }
static int stats(void) {
    static struct statx s;
    return fin_statx(AT_FDCWD, "/", 0, STATX_SIZE, &s);
}
static int receives(void) {
    static char c;
    return (int)fin_recv(pair[1], &c, 1, 0);
}
static int number;
static int receives_at_number(void) {
    static char c;
    return (int)fin_recv(number, &c, 1, 0);
}

static FIN_BLOCKING void calls_on(int (*call)(void)) {
    while (!stop && result >= 0) {
        result = UNTOLD;
        int r = call();
        result = r;
        if (call == opens && r >= 0)
            close(r);
        calls++;
    }
}

// Forks after each call, and so within each that begins with a turn. A byte is there that only the parent may take.
static void in_its_turn(int (*call)(void)) {
    pid_t pid = -1;
    stop = false;
    result = calls = 0;
    fin_finish {
        fin_async { calls_on(call); };
        for (int k = 0; k < TURNS && pid; k++) {
            int before = calls;
            CHECK_EQ(send(pair[0], "x", 1, 0), 1);
            pid = fork();
            CHECK(pid >= 0);
            if (pid)
                ended_well(pid);
            while (pid && calls == before)
                fin_yield();
        }
        stop = true;
        if (pid) {
            CHECK_EQ(send(pair[0], "x", 1, 0), 1);
        } else {
            alarm(20);
            fin_yield();
            own_io();
            CHECK(result == UNTOLD || (result >= 0 && (call == opens || call == stats))); // of those it may have come
            fin_cancel();
        }
    }
    if (pid == 0)
        _exit(0);
    drain(pair[1]);
}

// ---- about to be tried again

static pid_t forks(bool own_first) {
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        if (own_first)
            own_io();
        else
            fin_yield();
        own_io();
        CHECK_EQ(result, UNTOLD);
    }
    return pid;
}

// A ring has said that there is no room, or epoll that there is; before who sends has run another one forks.
static void to_be_tried_again(bool own_first) {
    static pid_t pid;
    while (send(full[0], big, sizeof big, MSG_DONTWAIT) > 0) {
    }
    pid = -1;
    result = UNTOLD;
    if (!on_epoll())
        CHECK_EQ(send(pair[0], "x", 1, 0), 1);
    fin_finish {
        fin_async {
            char c;
            CHECK_EQ(fin_recv(pair[1], &c, 1, 0), 1);
            pid = forks(own_first);
            if (pid == 0)
                fin_cancel();
        };
        fin_async { result = (int)fin_send(full[0], "abc", 3, 0); };
        if (on_epoll()) {
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            CHECK_EQ(send(pair[0], "x", 1, 0), 1);
            drain(full[1]); // epoll tells of it after the other
        }
        while (pid == -1) {
            int r = fin_sleep(FIN_MS);
            CHECK(r == 0 || (r == -ECANCELED && pid == 0));
        }
        if (pid) {
            ended_well(pid);
            drain(full[1]);
        }
    }
    CHECK_EQ(result, pid ? 3 : -ECANCELED);
    if (pid == 0)
        _exit(0);
    drain(full[1]);
}

int main(void) {
    skip_without_forks_of_threads();
    stream_pair(pair);
    stream_pair(full);
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(stats(), 0);
    in_its_turn(opens);
    in_its_turn(stats);
    in_its_turn(receives);
    number = fin_file_register(pair[1]);
    CHECK(number > 0);
    in_its_turn(receives_at_number);
    to_be_tried_again(false);
    to_be_tried_again(true);
    return 0;
}
