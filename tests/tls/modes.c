// SPDX-License-Identifier: BSD-2-Clause
// What an SSL_CTX may say that reading and ending rely on: without SSL_MODE_AUTO_RETRY, and with quiet shutdowns, all is
// read, however small the parts in which it comes, and each side is told the other's end and no other.
#include "pair.h"

enum { SIZE = 60000, PIECE = 40 };

static struct pair p;
static int far[2]; // of those between the two ends

static void set_modes(void) {
    for (int i = 0; i < 2; i++) {
        SSL_CTX_clear_mode(p.contexts[i], SSL_MODE_AUTO_RETRY);
        SSL_CTX_set_quiet_shutdown(p.contexts[i], 1);
    }
}

// The client's end and the server's are of two pairs of sockets.
static void open_between(void) {
    int more[2];
    pair_open(&p, true, TLS1_3_VERSION);
    fin_tls_free(p.client);
    fin_tls_free(p.server);
    set_modes();
    stream_pair(more);
    far[0] = p.fd[1];
    far[1] = more[0];
    p.fd[1] = more[1];
    CHECK_EQ(fin_tls_new(&p.client, p.contexts[0], p.fd[0]), 0);
    CHECK_EQ(fin_tls_new(&p.server, p.contexts[1], p.fd[1]), 0);
}

static void passes_on(void *from) {
    const int *in = from, *out = in == far ? far + 1 : far;
    char piece[PIECE];
    ssize_t n;
    while ((n = fin_recv(*in, piece, sizeof piece, 0)) > 0)
        CHECK_EQ(fin_send_all(*out, piece, (size_t)n, 0, NULL), 0);
    shutdown(*out, SHUT_WR);
}

static void serves(void *unused) {
    static char data[SIZE];
    (void)unused;
    CHECK_EQ(fin_tls_accept(p.server), 0);
    CHECK_EQ(fin_tls_read(p.server, data, 1), 0); // the client has said that this was all
    for (ssize_t n, at = 0; at < SIZE; at += n) {
        n = fin_tls_write(p.server, data + at, SIZE - (size_t)at);
        CHECK(n > 0);
    }
    CHECK_EQ(fin_tls_shutdown(p.server), 0);
    shutdown(p.fd[1], SHUT_WR);
}

static void reads(void *unused) {
    static char data[SIZE];
    ssize_t n, sum = 0;
    (void)unused;
    CHECK_EQ(fin_tls_connect(p.client, "localhost"), 0);
    CHECK_EQ(fin_tls_shutdown(p.client), 0);
    while ((n = fin_tls_read(p.client, data, sizeof data)) > 0)
        sum += n;
    CHECK_EQ(n, 0);
    CHECK_EQ(sum, SIZE);
    shutdown(p.fd[0], SHUT_WR);
}

int main(void) {
    open_between();
    fin_finish {
        fin_async_call(passes_on, &far[0]);
        fin_async_call(passes_on, &far[1]);
        fin_async_call(serves, NULL);
        fin_async_call(reads, NULL);
    }
    close(far[0]);
    close(far[1]);
    pair_close(&p);
    return 0;
}
