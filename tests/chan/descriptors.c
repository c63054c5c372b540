// SPDX-License-Identifier: BSD-2-Clause
// Descriptors travel with their messages, in order; those that nobody takes are closed.
#include <fcntl.h>
#include <sys/stat.h>

#include "chan.h"

static void in_order(void) {
    int fds[FIN_CHAN_FDS], pipes[20][2];
    char byte;
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(pipe(pipes[i]), 0);
        CHECK_EQ(fin_chan_send(a, "none", 4), 0);
        CHECK_EQ(fin_chan_send_fds(a, &i, sizeof i, &pipes[i][1], 1), 0);
        close(pipes[i][1]);
        if (i % 5 != 4)
            continue;
        for (int k = i - 4; k <= i; k++) {
            unsigned count = FIN_CHAN_FDS;
            int n;
            CHECK_EQ(fin_chan_recv_fds(b, &n, sizeof n, fds, &count), 4);
            CHECK_EQ(count, 0);
            count = 0;
            CHECK_EQ(fin_chan_recv_fds(b, &n, sizeof n, fds, &count), -EMSGSIZE);
            count = FIN_CHAN_FDS;
            CHECK_EQ(fin_chan_recv_fds(b, &n, sizeof n, fds, &count), sizeof n);
            CHECK_EQ(n, k);
            CHECK_EQ(count, 1);
            CHECK_EQ(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
            CHECK_EQ(write(fds[0], "x", 1), 1);
            CHECK_EQ(read(pipes[k][0], &byte, 1), 1);
            close(fds[0]);
            CHECK_EQ(read(pipes[k][0], &byte, 1), 0);
            close(pipes[k][0]);
        }
    }
}

static void send_two(void *unused) {
    int fds[FIN_CHAN_FDS];
    (void)unused;
    for (int i = 0; i < FIN_CHAN_FDS; i++)
        fds[i] = 0;
    CHECK_EQ(fin_chan_send_fds(a, "1", 1, fds, FIN_CHAN_FDS), 0);
    CHECK_EQ(fin_chan_send_fds(a, "2", 1, fds, 2), 0);
    CHECK_EQ(fin_chan_send_fds(a, "2", 1, fds, FIN_CHAN_FDS + 1), -EINVAL);
}

// The receiver sleeps first.
static void sleeping(void) {
    int fds[FIN_CHAN_FDS];
    char byte;
    unsigned count = FIN_CHAN_FDS;
    fin_finish {
        fin_async_call(send_two, NULL);
        CHECK_EQ(fin_chan_recv_fds(b, &byte, 1, fds, &count), 1);
        CHECK_EQ(count, FIN_CHAN_FDS);
        for (unsigned i = 0; i < count; i++)
            close(fds[i]);
        CHECK_EQ(fin_chan_recv(b, &byte, 1), 1); // without them
    }
}

// What was under way to an end that closes is closed with it, and what is sent there afterwards is not kept.
static void to_closed(enum kind kind) {
    int pipes[2];
    char byte;
    open_kind(kind, 0, 0);
    CHECK_EQ(pipe(pipes), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(fin_chan_send_fds(a, "before", 6, &pipes[1], 1), 0);
    CHECK_EQ(fin_chan_close(b), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ((i ? fin_chan_send_fds : fin_chan_try_send_fds)(a, "after", 5, &pipes[1], 1), -EPIPE);
    close(pipes[1]);
    CHECK_EQ(read(pipes[0], &byte, 1), 0);
    close(pipes[0]);
    CHECK_EQ(fin_chan_close(a), 0);
}

static void waits_behind(void *unused) {
    (void)unused;
    CHECK_EQ(fin_chan_send_fds(a, "6", 1, &(int){0}, 1), 0);
}

// Nothing waits: not for a message, nor for room, in the ring or in the socket, nor for a turn; and what was not sent leaves
// nothing behind.
static void tries(void) {
    int fds[FIN_CHAN_FDS], number, sent = 0;
    unsigned count = FIN_CHAN_FDS;
    char big[2000] = "";
    void *room;
    CHECK_EQ(fin_chan_try_recv_fds(b, &number, sizeof number, fds, &count), -EAGAIN);
    CHECK_EQ(fin_chan_try_send_fds(a, "bad", 3, (int[]){-1}, 1), -EBADF);
    CHECK_EQ(fin_chan_try_send_fds(a, "many", 4, fds, FIN_CHAN_FDS + 1), -EINVAL);
    CHECK_EQ(fin_chan_try_send_fds(a, big, fin_chan_most(a) + 1, fds, 0), -EMSGSIZE);
    CHECK_EQ(fin_chan_reserve(a, 8, &room), 0);
    CHECK_EQ(fin_chan_try_send_fds(a, "turn", 4, &(int){0}, 1), -EAGAIN);
    fin_chan_abandon(a);
    for (int every = 1; every <= 3; every += 2) { // first the socket is full, then the ring
        for (int r = sent = 0; r == 0; sent += r == 0) {
            memcpy(big, &sent, sizeof sent);
            size_t size = every == 1 || sent % 3 ? sizeof sent : sizeof big;
            r = fin_chan_try_send_fds(a, big, size, &(int){0}, sent % every == 0);
            CHECK(r == 0 || r == -EAGAIN);
        }
        CHECK(sent > 10);
        for (int i = 0; i < sent; i++) {
            count = FIN_CHAN_FDS;
            CHECK_EQ(fin_chan_try_recv_fds(b, big, sizeof big, fds, &count), every == 1 || i % 3 ? sizeof sent : sizeof big);
            memcpy(&number, big, sizeof number);
            CHECK_EQ(number, i);
            CHECK_EQ(count, i % every == 0);
            if (count)
                close(fds[0]);
        }
        CHECK_EQ(fin_chan_try_recv_fds(b, big, sizeof big, fds, &count), -EAGAIN);
    }
    fin_finish { // there is room again, for who waits, too
        fin_async_call(waits_behind, NULL);
        CHECK_EQ(fin_chan_recv(b, big, sizeof big), 1);
    }
}

int main(void) {
    unsigned count = 1;
    int fd, kept = -1;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        CHECK_EQ(fin_chan_pair(&a, &b, NULL), 0); // whatever the first channel needs
        close_both();
        CHECK_EQ(fin_sleep(1), 0);
        int before = open_descriptors();
        open_kind(kind, 0, 0);
        in_order();
        sleeping();
        tries();
        CHECK_EQ(fin_chan_send_fds(a, "bad", 3, (int[]){-1}, 1), -EBADF);
        CHECK_EQ(fin_chan_try_recv(b, &fd, sizeof fd), -EAGAIN);
        CHECK_EQ(fin_chan_send_fds(a, "kept", 4, &(int){0}, 1), 0);
        CHECK_EQ(fin_chan_recv_fds(b, &fd, sizeof fd, &kept, &count), 4);
        close(kept);
        CHECK_EQ(fin_chan_send_fds(a, "lost", 4, &(int){0}, 1), 0);
        CHECK_EQ(fin_chan_send_fds(a, "lost", 4, &(int){0}, 1), 0);
        CHECK_EQ(fin_chan_close(b), 0);
        CHECK_EQ(fin_chan_try_send_fds(a, "gone", 4, &(int){0}, 1), -EPIPE);
        CHECK_EQ(fin_chan_close(a), 0);
        open_kind(kind, 0, kind == LOCAL ? 0 : FIN_CHAN_SHARED);
        tries();
        close_both();
        to_closed(kind);
        until_open_descriptors(before);
    }
    return 0;
}
