// SPDX-License-Identifier: BSD-2-Clause
// A receiver whose AWE waits with a continuation hands out every byte once and in order: with buffers in plenty and with
// one, when its waits are cancelled, and to the end of the stream. While it waits nobody else may.
#include <fin/on.h>

#include "receiving.h"

enum { ROUNDS = 150 };

static unsigned cancelled, ended;
static struct fin_on on;
static void *piece;

static void got(void *state, int n);

static void wait_for_more(void) {
    long mark = 4711;
    int error = fin_receiver_next_on(receiver, &piece, &on, got, &mark, sizeof mark);
    CHECK_EQ(error, 0);
    CHECK(false);
}

static void got(void *state, int n) {
    CHECK_EQ(*(long *)state, 4711);
    if (n <= 0) {
        CHECK(n == 0 || n == -ECANCELED);
        CHECK(piece == NULL);
        cancelled += n < 0;
        ended += n == 0;
        fin_cont_end();
    }
    take_piece(piece, n);
    wait_for_more();
}

static void starts(void *state, int result) {
    (void)state;
    (void)result;
    wait_for_more();
}

static void refused(void *unused) {
    void *other;
    struct fin_on another;
    CHECK_EQ(fin_receiver_next_on(receiver, &other, &another, got, unused, 0), -EBUSY);
    CHECK_EQ(fin_receiver_next(receiver, &other), -EBUSY);
    CHECK_EQ(fin_receiver_stop(receiver), -EBUSY);
}

static void all(unsigned buffers) {
    begin(buffers);
    cancelled = ended = 0;
    for (unsigned i = 0; i < ROUNDS / 5; i++) { // cancelled when there is something, and when there is nothing
        fin_finish {
            fin_async_cont(starts, NULL, 0);
            fin_yield();
            if (i == 0) // nothing has been sent: it waits
                fin_async_call(refused, NULL);
            if (i % 2)
                send_some();
            if (i % 3)
                CHECK_EQ(fin_sleep_nc(1), 0);
            fin_cancel();
        }
        CHECK_EQ(cancelled, i + 1);
    }
    struct fin_stats t;
    fin_finish {
        fin_stats_clear();
        fin_async_cont(starts, NULL, 0);
        for (int i = 0; i < ROUNDS; i++) {
            send_some();
            if (next_random(&seed) % 2)
                fin_sleep_nc(1);
        }
        shutdown(fd[1], SHUT_WR);
    }
    fin_stats(&t);
    CHECK(t.blocks[FIN_FOR_IO].with_continuation > 0);
    CHECK_EQ(received, sent);
    CHECK_EQ(ended, 1);
    CHECK_EQ(fin_receiver_close(receiver), 0);
    end();
}

int main(void) {
    all(16);
    all(1);
    return 0;
}
