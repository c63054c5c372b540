// SPDX-License-Identifier: BSD-2-Clause
// A message of the peer's that comes in several records, between data: a large ticket for a session. Until it is whole
// OpenSSL takes no data to write. A write then waits for the rest, also where nobody reads, and is cancelled exactly.
#include "pair.h"

static struct pair p;
static SSL *peer;
static BIO *in, *out;
static char late[16384]; // what the peer says after the handshake
static size_t late_size;

static int large(SSL *ssl, void *unused) {
    static char data[2000];
    (void)unused;
    return SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), data, sizeof data);
}

static SSL_TICKET_RETURN take(SSL *ssl, SSL_SESSION *s, const unsigned char *name, size_t size, SSL_TICKET_STATUS status,
                              void *unused) {
    (void)ssl, (void)s, (void)name, (void)size, (void)status, (void)unused;
    return SSL_TICKET_RETURN_IGNORE;
}

// The other side, without Fin's TLS, so that what it says can be held back.
static void peer_open(void) {
    pair_open(&p, true, TLS1_3_VERSION);
    CHECK_EQ(SSL_CTX_set_session_ticket_cb(p.contexts[1], large, take, NULL), 1);
    CHECK_EQ(SSL_CTX_set_max_send_fragment(p.contexts[1], 512), 1);
    peer = SSL_new(p.contexts[1]);
    in = BIO_new(BIO_s_mem());
    out = BIO_new(BIO_s_mem());
    CHECK(peer && in && out);
    SSL_set_bio(peer, in, out);
    SSL_set_accept_state(peer);
}

static FIN_BLOCKING void peer_receive(void) {
    char data[8192];
    ssize_t n = fin_recv(p.fd[1], data, sizeof data, 0);
    CHECK(n > 0);
    CHECK_EQ(BIO_write(in, data, (int)n), n);
}

static void peer_send(void) {
    char data[8192];
    int n = BIO_read(out, data, sizeof data);
    CHECK_EQ(send(p.fd[1], data, (size_t)n, 0), n);
}

static FIN_BLOCKING void peer_greets(void *unused) {
    (void)unused;
    for (;;) {
        peer_receive();
        if (SSL_do_handshake(peer) == 1)
            break;
        peer_send();
    }
    late_size = (size_t)BIO_read(out, late, sizeof late);
    CHECK(late_size > 2000 && late_size < sizeof late);
}

static void connected(void) {
    peer_open();
    fin_finish {
        fin_async_call(peer_greets, NULL);
        CHECK_EQ(fin_tls_connect(p.client, "localhost"), 0);
    }
}

static void over(void) {
    SSL_free(peer);
    pair_close(&p);
}

// The beginning has a whole record, which is taken by a read that does not end.
static void begin(void) { CHECK_EQ(send(p.fd[1], late, 1000, 0), 1000); }
static void end(void) { CHECK_EQ(send(p.fd[1], late + 1000, late_size - 1000, 0), (ssize_t)late_size - 1000); }

static FIN_BLOCKING void cancelled_read(void) {
    char c;
    ssize_t n = 0;
    fin_timeout(20 * FIN_MS) {
        n = fin_tls_read(p.client, &c, 1);
    }
    CHECK_EQ(n, -ECANCELED);
}

static FIN_BLOCKING void peer_hears(const char *expected) {
    char data[16] = "";
    int n;
    while ((n = SSL_read(peer, data, sizeof data - 1)) <= 0) {
        CHECK_EQ(SSL_get_error(peer, n), SSL_ERROR_WANT_READ);
        peer_receive();
    }
    CHECK(strcmp(data, expected) == 0);
}

static void peer_answers(void) {
    CHECK_EQ(SSL_write(peer, "y", 1), 1);
    peer_send();
}

static void read_y(void *unused) {
    char c = 0;
    (void)unused;
    CHECK_EQ(fin_tls_read(p.client, &c, 1), 1);
    CHECK_EQ(c, 'y');
}

static struct fin_more_on on;
static char taken;

static void have_y(void *state, int n) {
    (void)state;
    CHECK_EQ(n, 1);
    CHECK_EQ(taken, 'y');
    fin_cont_end();
}

static void read_y_on(void *state, int unused) {
    (void)state, (void)unused;
    fin_tls_read_on(p.client, &taken, 1, &on, have_y, NULL, 0);
    CHECK(false);
}

static void end_later(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sleep(20 * FIN_MS), 0);
    end();
}

// Another AWE reads meanwhile, with a stack or without.
static void beside_a_reader(bool on_stack) {
    connected();
    begin();
    fin_finish {
        if (on_stack)
            fin_async_call(read_y, NULL);
        else
            CHECK(fin_async_cont(read_y_on, NULL, 0) != NULL);
        CHECK_EQ(fin_sleep(20 * FIN_MS), 0); // it has come as far as it can
        fin_async_call(end_later, NULL);
        CHECK_EQ(fin_tls_write(p.client, "x", 1), 1);
        peer_hears("x");
        peer_answers();
    }
    over();
}

static ssize_t result;

static void have_read(void *state, int n) {
    (void)state;
    result = n;
    fin_cont_end();
}

static void read_on(void *state, int unused) {
    (void)state, (void)unused;
    fin_tls_read_on(p.client, &taken, 1, &on, have_read, NULL, 0);
    CHECK(false);
}

static FIN_BLOCKING void reads_until(uint64_t timeout, bool on_stack) {
    fin_timeout(timeout) {
        if (on_stack)
            result = fin_tls_read(p.client, &taken, 1);
        else
            CHECK(fin_async_cont(read_on, NULL, 0) != NULL);
    }
}

// The reader goes away while the write waits.
static void reader_leaves(bool on_stack) {
    connected();
    begin();
    fin_finish {
        fin_async {
            reads_until(40 * FIN_MS, on_stack);
            CHECK_EQ(result, -ECANCELED);
            end();
        };
        CHECK_EQ(fin_sleep(20 * FIN_MS), 0);
        CHECK_EQ(fin_tls_write(p.client, "x", 1), 1);
    }
    peer_hears("x");
    peer_answers();
    read_y(NULL);
    over();
}

static void alone(void) {
    ssize_t n = 0;
    connected();
    begin();
    cancelled_read();
    fin_timeout(20 * FIN_MS) {
        n = fin_tls_write(p.client, "lost", 4);
    }
    CHECK_EQ(n, -ECANCELED);
    fin_finish {
        fin_async_call(end_later, NULL);
        CHECK_EQ(fin_tls_write(p.client, "x", 1), 1);
    }
    peer_hears("x"); // and not what was cancelled
    peer_answers();
    read_y(NULL);
    over();
}

static void said_to_be_all(void) {
    connected();
    begin();
    cancelled_read();
    fin_finish {
        fin_async_call(end_later, NULL);
        CHECK_EQ(fin_tls_shutdown(p.client), 0);
    }
    peer_receive();
    char c;
    CHECK_EQ(SSL_get_error(peer, SSL_read(peer, &c, 1)), SSL_ERROR_ZERO_RETURN);
    over();
}

static void tampered(void) {
    connected();
    late[1500] ^= 1;
    begin();
    cancelled_read();
    end();
    CHECK_EQ(fin_tls_write(p.client, "x", 1), -EPROTO);
    CHECK(fin_tls_error(p.client)[0] != 0);
    CHECK_EQ(fin_tls_shutdown(p.client), -EPROTO);
    over();
}

// The peer ends in the middle and does not say so.
static void ends(bool reader, bool on_stack) {
    static ssize_t n;
    connected();
    begin();
    cancelled_read();
    fin_finish {
        if (reader) {
            fin_async {
                reads_until(10 * FIN_S, on_stack);
                CHECK_EQ(result, -ECONNABORTED);
            };
        }
        fin_async {
            CHECK_EQ(fin_sleep(20 * FIN_MS), 0);
            shutdown(p.fd[1], SHUT_WR);
        };
        n = fin_tls_write(p.client, "x", 1);
    }
    CHECK_EQ(n, -ECONNABORTED);
    over();
}

int main(void) {
    for (int on_stack = 0; on_stack < 2; on_stack++) {
        beside_a_reader(on_stack);
        reader_leaves(on_stack);
        ends(true, on_stack);
    }
    alone();
    said_to_be_all();
    tampered();
    ends(false, false);
    return 0;
}
