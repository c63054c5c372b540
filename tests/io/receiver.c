// SPDX-License-Identifier: BSD-2-Clause
// A receiver hands out every byte once and in order: with buffers in plenty and with one, when its calls are cancelled, when
// it is stopped in between, and where it ends early it says how many are gone.
#include "receiving.h"

static int rounds;

static ssize_t receive_one(void) {
    void *piece;
    ssize_t n = fin_receiver_next(receiver, &piece);
    if (n > 0) {
        take_piece(piece, n);
    } else {
        CHECK(piece == NULL);
    }
    return n;
}

static void send_all(void *unused) {
    (void)unused;
    for (int i = 0; i < rounds; i++)
        send_some();
    shutdown(fd[1], SHUT_WR);
}

static void to_the_end(unsigned buffers) {
    ssize_t n;
    begin(buffers);
    fin_finish {
        fin_async_call(send_all, NULL);
        while ((n = receive_one()) > 0) {
        }
    }
    CHECK_EQ(n, 0);
    CHECK_EQ(receive_one(), 0);
    CHECK_EQ(received, sent);
    CHECK_EQ(fin_receiver_close(receiver), 0);
    end();
}

static int cancelled;

static void receive_until_cancelled(void *unused) {
    (void)unused;
    ssize_t n;
    do
        n = receive_one();
    while (n > 0);
    CHECK_EQ(n, -ECANCELED);
    cancelled++;
}

static void with_cancels(unsigned buffers) {
    begin(buffers);
    for (int i = 0; i < rounds; i++) {
        fin_finish {
            fin_async_call(receive_until_cancelled, NULL);
            if (next_random(&seed) % 2)
                send_some();
            if (next_random(&seed) % 2)
                CHECK_EQ(fin_sleep_nc(1), 0);
            fin_cancel();
        }
    }
    shutdown(fd[1], SHUT_WR);
    while (receive_one() > 0) {
    }
    CHECK_EQ(received, sent);
    CHECK_EQ(fin_receiver_close(receiver), 0);
    end();
}

// Stopped: what was received, then what is left in the socket, is all.
static void stopped(unsigned buffers) {
    unsigned char p[SIZE];
    ssize_t n;
    for (int i = 0; i < rounds / 10; i++) {
        begin(buffers);
        send_some();
        CHECK(receive_one() > 0);
        for (unsigned k = next_random(&seed) % 3; k; k--)
            send_some();
        if (i % 2)
            CHECK_EQ(fin_sleep(1), 0);
        CHECK_EQ(fin_receiver_stop(receiver), 0);
        send_some();
        while ((n = receive_one()) > 0) {
        }
        CHECK_EQ(n, -ESHUTDOWN);
        CHECK_EQ(fin_receiver_close(receiver), 0);
        while (received < sent) {
            CHECK((n = recv(fd[0], p, sizeof p, MSG_DONTWAIT)) > 0);
            check_piece(p, n);
        }
        end();
    }
}

static void closed(void) {
    char p[10 * SIZE];
    begin(8);
    send_some();
    CHECK(receive_one() > 0);
    for (int i = 0; i < 3; i++)
        send_some();
    CHECK_EQ(fin_sleep(1), 0);
    ssize_t gone = fin_receiver_close(receiver), left = recv(fd[0], p, sizeof p, MSG_DONTWAIT);
    CHECK_EQ(received + gone + (left < 0 ? 0 : left), sent);
    end();
}

static void errors(void) {
    void *piece;
    begin(2);
    fin_finish {
        fin_async { CHECK_EQ(receive_one(), -ECANCELED); };
        CHECK_EQ(fin_receiver_next(receiver, &piece), -EBUSY);
        CHECK_EQ(fin_receiver_stop(receiver), -EBUSY);
        CHECK_EQ(fin_buffers_close(pool), -EBUSY);
        fin_cancel();
    }
    CHECK_EQ(fin_receiver_close(receiver), 0);
    CHECK_EQ(fin_receiver_open(&receiver, -1, pool), 0);
    CHECK_EQ(fin_receiver_next(receiver, &piece), -EBADF);
    CHECK_EQ(fin_receiver_close(receiver), 0);
    end();
}

int main(void) {
    rounds = getenv("FIN_FEW") ? 200 : 3000;
    static const unsigned counts[] = {1, 2, 5, 64};
    for (int i = 0; i < 4; i++) {
        to_the_end(counts[i]);
        cancelled = 0;
        with_cancels(counts[i]);
        CHECK_EQ(cancelled, rounds);
        stopped(counts[i]);
    }
    closed();
    errors();
    return 0;
}
