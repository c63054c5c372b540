// SPDX-License-Identifier: BSD-2-Clause
// What a read answers for OpenSSL, here with a certificate that the server asks for after the handshake, may find the socket
// full of data that was written before. Once the peer has read that, the answer is sent, though the client only reads: with
// a stack or without, and also where somebody else was sending then, and was cancelled.
#include "pair.h"

#include <fin/sync.h>

enum { CHUNK = 1000, MOST = 10000 };

static struct pair p;
static char data[CHUNK], answer[8];
static int fits; // writes
static size_t written;
static struct fin_event asked;

static void connected(void) {
    int small = 4096;
    pair_open(&p, true, TLS1_3_VERSION);
    setsockopt(p.fd[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    SSL *client = fin_tls_ssl(p.client);
    SSL_set_post_handshake_auth(client, 1);
    CHECK_EQ(SSL_use_certificate(client, p.certificate.x509), 1);
    CHECK_EQ(SSL_use_PrivateKey(client, p.certificate.key), 1);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(p.contexts[1]), p.certificate.x509);
    pair_connect(&p);
    fin_finish { // the tickets
        fin_async { fin_tls_read(p.client, answer, sizeof answer); };
        fin_sleep(10 * FIN_MS);
        fin_cancel();
    }
}

// How many writes there is room for.
static void measure(void) {
    bool waits = false;
    connected();
    while (!waits && fits < MOST) {
        fin_timeout(20 * FIN_MS) {
            ssize_t n = fin_tls_write(p.client, data, CHUNK);
            CHECK(n == CHUNK || n == -ECANCELED);
        }
        waits = fin_timed_out();
        fits += !waits;
    }
    CHECK(waits && fits > 0);
    pair_close(&p);
}

static void serve(void *unused) {
    static char buffer[CHUNK];
    size_t n = 0;
    ssize_t r;
    (void)unused;
    SSL *server = fin_tls_ssl(p.server);
    SSL_set_verify(server, SSL_VERIFY_PEER, NULL);
    CHECK_EQ(SSL_verify_client_post_handshake(server), 1);
    CHECK_EQ(fin_tls_write(p.server, "?", 1), 1); // after what asks
    fin_event_await_nc(&asked, 1);
    while (n < written) {
        CHECK((r = fin_tls_read(p.server, buffer, sizeof buffer)) > 0);
        n += (size_t)r;
    }
    fin_finish { // it is to come without any data behind it
        fin_async { fin_tls_read(p.server, buffer, 1); };
        for (X509 *x = NULL; !x; X509_free(x)) {
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            x = SSL_get1_peer_certificate(server);
        }
        fin_cancel();
    }
    CHECK_EQ(fin_tls_write(p.server, "!", 1), 1);
}

static void has_read(void *state, int n) {
    (void)state;
    CHECK(n == 1 && answer[0] == '!');
    fin_cont_end();
}

static void reads_on(void *unused, int result) {
    static struct fin_more_on on;
    (void)unused, (void)result;
    fin_tls_read_on(p.client, answer, 1, &on, has_read, NULL, 0);
    CHECK(false);
}

static void writes_more(void *unused) {
    (void)unused;
    fin_timeout(20 * FIN_MS) {
        CHECK_EQ(fin_tls_write(p.client, data, CHUNK), CHUNK); // it is taken
    }
    CHECK(fin_timed_out());
    written += CHUNK;
}

static void asks(bool with_stack, bool with_other) {
    connected();
    fin_event_init(&asked);
    for (int i = 0; i < fits; i++)
        CHECK_EQ(fin_tls_write(p.client, data, CHUNK), CHUNK);
    written = (size_t)fits * CHUNK;
    fin_finish {
        if (with_other)
            fin_async_call(writes_more, NULL);
        fin_async_call(serve, NULL);
        CHECK_EQ(fin_tls_read(p.client, answer, 1), 1);
        CHECK_EQ(answer[0], '?');
        if (with_stack) {
            fin_async {
                CHECK_EQ(fin_tls_read(p.client, answer, 1), 1);
                CHECK_EQ(answer[0], '!');
            };
        } else {
            CHECK(fin_async_cont(reads_on, NULL, 0) != NULL);
        }
        if (with_other)
            CHECK_EQ(fin_sleep(40 * FIN_MS), 0);
        fin_event_advance(&asked, 1);
    }
    pair_close(&p);
}

int main(void) {
    alarm(20);
    measure();
    for (int i = 0; i < 4; i++)
        asks(i & 1, i & 2);
    return 0;
}
