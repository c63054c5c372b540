// SPDX-License-Identifier: BSD-2-Clause
// Who waits on a thread of the ring with a buffer already chosen, as for a socket that is ready for ever, is interrupted
// where the process is stopped: the wait goes on, and the buffer is one of the group again.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>

#include <fin/stream.h>

#include "errors.h"

enum { STOPS = 3, PIECES = 4 };

static struct fin_buffers *buffers;
static struct fin_buffers_on on;
static void *piece, *piece_on;
static int fd[2], peer[2], got, got_on;

static void ended(void *state, int r) {
    (void)state;
    got_on = r;
    fin_cont_end();
}

static void receives(void *state, int unused) {
    (void)state, (void)unused;
    fin_buffers_recv_on(buffers, fd[1], &piece_on, &on, ended, NULL, 0);
}

static void all_are_there(void) {
    void *pieces[PIECES + 1];
    for (int i = 0; i <= PIECES; i++) {
        CHECK_EQ(send(peer[0], "x", 1, 0), 1);
        CHECK_EQ(fin_buffers_recv(buffers, fd[0], &pieces[i], MSG_DONTWAIT), i < PIECES ? 1 : -ENOBUFS);
    }
}

static void waits(int told, int tell) {
    char c;
    CHECK_EQ(fin_buffers_open(&buffers, PIECES, 16), 0);
    socket_with_error(&fd[0], &peer[0]);
    socket_with_error(&fd[1], &peer[1]);
    fin_finish {
        fin_async { got = (int)fin_buffers_recv(buffers, fd[0], &piece, 0); };
        CHECK(fin_async_cont(receives, NULL, 0) != NULL);
        for (int i = 0; i < STOPS; i++) {
            CHECK_EQ(fin_sleep(20 * FIN_MS), 0);
            CHECK_EQ(write(tell, "x", 1), 1);
            CHECK_EQ(fin_read(told, &c, 1), 1);
        }
        CHECK_EQ(send(peer[0], "ab", 2, 0), 2);
        CHECK_EQ(send(peer[1], "abc", 3, 0), 3);
    }
    CHECK_EQ(got, 2);
    CHECK_EQ(got_on, 3);
    CHECK_EQ(fin_buffers_put(buffers, piece), 0);
    CHECK_EQ(fin_buffers_put(buffers, piece_on), 0);
    all_are_there();
}

int main(void) {
    int there[2], back[2], status;
    char c;
    CHECK_EQ(pipe(there), 0);
    CHECK_EQ(pipe(back), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        waits(there[0], back[1]);
        _exit(0);
    }
    close(back[1]);
    for (int i = 0; i < STOPS; i++) {
        CHECK_EQ(read(back[0], &c, 1), 1);
        stop_and_continue(child);
        CHECK_EQ(write(there[1], "x", 1), 1);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    return 0;
}
