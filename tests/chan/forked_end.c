// SPDX-License-Identifier: BSD-2-Clause
// The other process has forked a child, which has copies of all that it had, and lives on: when the process closes its end,
// or dies, who waits at this one is told at once, in either direction. Programs that it starts do not get its sockets.
#include <fcntl.h>

#include "chan.h"

enum { LIVES = 60 }; // seconds, if it is not killed

static int told[2]; // a pipe: the child's number
static bool lowest; // the process has no standard input: a socket has its number

static void forks_then_ends(void *dies) {
    struct fin_chan *c;
    if (lowest) {
        CHECK_EQ(dup2(sockets[1], 0), 0);
        close(sockets[1]);
    }
    if (fin_chan_take(&c, lowest ? 0 : sockets[1], 0) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        sleep(LIVES);
        _exit(0);
    }
    CHECK_EQ(write(told[1], &child, sizeof child), sizeof child);
    CHECK_EQ(fin_chan_send(c, "forked", 6), 0);
    CHECK_EQ(fin_sleep(20 * FIN_MS), 0); // the other one waits by now
    if (dies)
        _exit(0);
    CHECK_EQ(fin_chan_close(c), 0);
    pause();
}

static int send_until(void) {
    char p[1000] = {0};
    int r;
    while ((r = fin_chan_send(a, p, sizeof p)) == 0) {
    }
    return r;
}

static int receive(void) {
    char p[8];
    return (int)fin_chan_recv(a, p, sizeof p);
}

static void one(int (*wait)(void), void *dies, int expected) {
    pid_t grandchild, pid = child(forks_then_ends, dies);
    char p[8];
    int r = -ECANCELED;
    CHECK_EQ(fin_chan_offer(&a, sockets[0], &(struct fin_chan_options){4096, 0}), 0);
    CHECK_EQ(read(told[0], &grandchild, sizeof grandchild), sizeof grandchild);
    CHECK_EQ(fin_chan_recv(a, p, sizeof p), 6);
    fin_timeout(20 * FIN_S) {
        r = wait();
    }
    CHECK_EQ(kill(grandchild, SIGKILL), 0);
    CHECK_EQ(kill(pid, SIGKILL), 0); // where it has died already it is a zombie
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK_EQ(r, expected);
    CHECK_EQ(fin_chan_close(a), 0);
}

// Sockets that were made without SOCK_CLOEXEC.
static void keeps_sockets(void) {
    int fd[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd), 0);
    CHECK_EQ(fin_chan_offer(&a, fd[0], NULL), 0);
    CHECK_EQ(fin_chan_take(&b, fd[1], 0), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(fcntl(fd[i], F_GETFD), FD_CLOEXEC);
    CHECK_EQ(fin_chan_close(a), 0);
    CHECK_EQ(fin_chan_close(b), 0);
}

int main(void) {
    alarm(50);
    keeps_sockets();
    CHECK_EQ(pipe(told), 0);
    for (int i = 0; i < 4; i++) {
        bool dies = i % 2;
        lowest = i / 2;
        one(receive, dies ? &told : NULL, dies ? -ECONNRESET : -ESHUTDOWN);
        one(send_until, dies ? &told : NULL, -EPIPE);
    }
    return 0;
}
