// SPDX-License-Identifier: BSD-2-Clause
// A session goes on where the server was trusted in it, and is asked for by a name that its certificate is for. Otherwise a
// new one begins, in which the certificate is looked at: OpenSSL does not look at it again.
#include "pair.h"

static struct pair p;
static SSL_SESSION *session;

static int keep(SSL *ssl, SSL_SESSION *s) {
    (void)ssl;
    SSL_SESSION_free(session);
    session = s;
    return 1;
}

// A ticket comes with the first data.
static void begin_session(const char *host) {
    char byte;
    SSL_CTX_set_session_cache_mode(p.contexts[0], SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(p.contexts[0], keep);
    fin_finish {
        fin_async_call(pair_accept, &p);
        CHECK_EQ(fin_tls_connect(p.client, host), 0);
    }
    CHECK_EQ(fin_tls_write(p.server, "x", 1), 1);
    CHECK_EQ(fin_tls_read(p.client, &byte, 1), 1);
    CHECK(session);
}

static void cancelled(const char *host) {
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_tls_connect(p.client, host), -ECANCELED);
    }
}

// Late: once the handshake has been asked for, though it has not begun.
static void go_on(const char *host, bool late, int expected, bool reused) {
    SSL_SESSION *s = session;
    session = NULL;
    CHECK_EQ(fin_tls_shutdown(p.client), 0); // or OpenSSL lets no session of it go on
    fin_tls_free(p.client);
    fin_tls_free(p.server);
    for (int i = 0; i < 2; i++)
        close(p.fd[i]);
    stream_pair(p.fd);
    CHECK_EQ(fin_tls_new(&p.client, p.contexts[0], p.fd[0]), 0);
    CHECK_EQ(fin_tls_new(&p.server, p.contexts[1], p.fd[1]), 0);
    if (late)
        cancelled(host);
    CHECK_EQ(SSL_set_session(fin_tls_ssl(p.client), s), 1);
    fin_finish {
        fin_async { fin_tls_accept(p.server); };
        CHECK_EQ(fin_tls_connect(p.client, host), expected);
        fin_cancel();
    }
    CHECK_EQ(SSL_session_reused(fin_tls_ssl(p.client)), reused);
    SSL_SESSION_free(s);
}

static void end(void) {
    SSL_SESSION_free(session);
    session = NULL;
    pair_close(&p);
}

static void trusted(int version, const char *host, int expected) {
    for (int late = 0; late < 2; late++) {
        pair_open(&p, true, version);
        begin_session("localhost");
        go_on(host, late, expected, late || expected == 0);
        end();
    }
}

// Whoever answered, nobody asked. Then without asking again, and with.
static void not_trusted(int version, const char *host, int expected) {
    for (int late = 0; late < 2; late++) {
        pair_open(&p, false, version);
        SSL_CTX_set_verify(p.contexts[0], SSL_VERIFY_NONE, NULL);
        begin_session(NULL);
        go_on(host, late, expected, late || !host);
        end();
    }
}

int main(void) {
    static const int versions[] = {0, TLS1_2_VERSION};
    for (int i = 0; i < 2; i++) {
        trusted(versions[i], "localhost", 0);
        trusted(versions[i], "localhost.", 0);
        trusted(versions[i], "127.0.0.1", 0);
        trusted(versions[i], NULL, 0);
        trusted(versions[i], "example.org", -EKEYREJECTED);
        trusted(versions[i], "127.0.0.2", -EKEYREJECTED);
        not_trusted(versions[i], "localhost", -EKEYREJECTED);
        not_trusted(versions[i], NULL, 0);
    }
    return 0;
}
