// SPDX-License-Identifier: BSD-2-Clause
// A child of a fork has no copy of descriptors that were under way in its parent: who reads a pipe whose other end was among
// them is told its end, while the child lives.
#include "chan.h"

static int sends_pipe(void) {
    int fd[2];
    CHECK_EQ(pipe(fd), 0);
    CHECK_EQ(fin_chan_send_fds(a, "xy", 2, &fd[1], 1), 0);
    close(fd[1]);
    return fd[0];
}

static pid_t forks(int *life) {
    int fd[2];
    char byte;
    CHECK_EQ(pipe(fd), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        close(fd[1]);
        _exit(read(fd[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(fd[0]);
    *life = fd[1];
    return pid;
}

static void closes_received(void) {
    char bytes[2];
    int fd;
    unsigned count = 1;
    CHECK_EQ(fin_chan_recv_fds(b, bytes, 2, &fd, &count), 2);
    CHECK_EQ(count, 1);
    CHECK_EQ(write(fd, "z", 1), 1);
    close(fd);
}

// `come`: the receiver has them, and not yet the message.
static void one(enum kind kind, bool come) {
    int life;
    char byte;
    open_kind(kind, 4096, 0);
    int first = sends_pipe(), second = sends_pipe();
    if (come) {
        unsigned count = 0;
        CHECK_EQ(fin_chan_try_recv_fds(b, (char[2]){0}, 2, &life, &count), -EMSGSIZE);
    }
    pid_t pid = forks(&life);
    for (int i = 0; i < 2; i++) {
        int from = i == 0 ? first : second;
        closes_received();
        CHECK_EQ(read(from, &byte, 1), 1);
        CHECK_EQ(read(from, &byte, 1), 0);
        close(from);
    }
    close(life);
    ended_well(pid);
    close_both();
}

int main(void) {
    alarm(60);
    CHECK_EQ(fin_sleep(1), 0); // what the thread waits with is there
    int before = open_descriptors();
    for (int come = 0; come < 2; come++) {
        one(LOCAL, come);
        one(PAIR, come);
        one(SOCKET, come);
    }
    CHECK_EQ(open_descriptors(), before);
    return 0;
}
