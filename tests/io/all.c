// SPDX-License-Identifier: BSD-2-Clause
// Transfers that go on until all is done: through what takes and gives a little at a time; what they report at the end of a
// stream, after an error, and when cancelled in the middle is what the other side saw.
#include "net.h"

enum { MUCH = 3000000, ROUNDS = 300 };

static char out[MUCH], in[MUCH];
static int fd[2];

static void send_much(void *use_write) {
    size_t done = 0;
    int r = use_write ? fin_write_all(fd[1], out, MUCH, &done) : fin_send_all(fd[1], out, MUCH, 0, &done);
    CHECK_EQ(r, 0);
    CHECK_EQ(done, MUCH);
}

static void through(bool use_write) {
    size_t done = 0;
    memset(in, 0, sizeof in);
    fin_finish {
        fin_async_call(send_much, use_write ? out : NULL);
        int r = use_write ? fin_read_all(fd[0], in, MUCH, &done) : fin_recv_all(fd[0], in, MUCH, 0, &done);
        CHECK_EQ(r, 0);
    }
    CHECK_EQ(done, MUCH);
    CHECK(memcmp(in, out, MUCH) == 0);
}

static void ends(void) {
    size_t done = 7;
    CHECK_EQ(fin_read_all(fd[0], in, 0, &done), 0);
    CHECK_EQ(done, 0);
    CHECK_EQ(fin_recv_all(fd[0], in, 0, 0, NULL), 0);
    CHECK_EQ(write(fd[1], "abc", 3), 3);
    close(fd[1]);
    CHECK_EQ(fin_read_all(fd[0], in, 5, &done), -ENODATA);
    CHECK_EQ(done, 3);
    CHECK_EQ(fin_read_all(fd[0], in, 5, &done), -ENODATA);
    CHECK_EQ(done, 0);
    close(fd[0]);
    CHECK_EQ(fin_read_all(-1, in, 5, &done), -EBADF);
    CHECK_EQ(done, 0);
}

static void reset(void) {
    size_t done;
    stream_pair(fd);
    CHECK_EQ(write(fd[1], "x", 1), 1);
    close(fd[0]); // with something unread
    CHECK_EQ(fin_recv_all(fd[1], in, 5, 0, &done), -ECONNRESET);
    CHECK_EQ(done, 0);
    CHECK_EQ(fin_send_all_nc(fd[1], in, 5, 0, &done), -EPIPE);
    CHECK_EQ(done, 0);
    close(fd[1]);
}

static size_t sent;
static int how;

static void send_cancelled(void *unused) {
    (void)unused;
    how = fin_send_all(fd[1], out, MUCH, 0, &sent);
}

// The receiver takes some and then cancels the sender: what it said it sent is in the socket, to the byte.
static void cancelled(void) {
    unsigned seed = 11;
    int stopped = 0;
    stream_pair(fd);
    for (int i = 0; i < (getenv("FIN_FEW") ? ROUNDS / 10 : ROUNDS); i++) {
        size_t got = 0;
        sent = 0;
        fin_finish {
            fin_async_call(send_cancelled, NULL);
            for (unsigned n = next_random(&seed) % 20; n; n--)
                got += (size_t)fin_recv_nc(fd[0], in, 1 + next_random(&seed) % 60000, 0);
            fin_cancel();
        }
        CHECK(how == -ECANCELED || (how == 0 && sent == MUCH));
        stopped += how == -ECANCELED;
        CHECK(got <= sent);
        while (got < sent) {
            ssize_t n = recv(fd[0], in, MUCH, MSG_DONTWAIT);
            CHECK(n > 0);
            got += (size_t)n;
        }
        CHECK_EQ(got, sent);
        CHECK_EQ(recv(fd[0], in, 1, MSG_DONTWAIT), -1);
    }
    CHECK(stopped > 0);
    close(fd[0]);
    close(fd[1]);
}

int main(void) {
    for (int i = 0; i < MUCH; i++)
        out[i] = (char)(i * 7 + i / 256);
    stream_pair(fd);
    through(false);
    through(true);
    ends();
    CHECK_EQ(pipe(fd), 0);
    through(true);
    ends();
    reset();
    cancelled();
    return 0;
}
