// SPDX-License-Identifier: BSD-2-Clause
// Peers that do not speak TLS, are not who they should be, end without saying so, or tamper with what is sent.
#include "pair.h"

static char buffer[32768];

static void garbage(void) {
    unsigned seed = 7;
    const int rounds = getenv("FIN_FEW") ? 10 : 50;
    for (int round = 0; round < rounds; round++) {
        struct pair p;
        pair_open(&p, true, 0);
        for (int i = 0; i < 2000; i++)
            buffer[i] = (char)next_random(&seed);
        if (round % 2)
            memcpy(buffer, "\x16\x03\x01\x01\x00\x01\x00\x00\xfc\x03\x03", 11); // the beginning of a greeting
        CHECK_EQ(send(p.fd[0], buffer, 2000, 0), 2000);
        shutdown(p.fd[0], SHUT_WR);
        int r = fin_tls_accept(p.server);
        CHECK(r == -EPROTO || r == -ECONNABORTED);
        CHECK(fin_tls_error(p.server)[0] != 0);
        CHECK_EQ(fin_tls_accept(p.server), r);
        pair_close(&p);
    }
}

static void refused(bool trusted, const char *host, const char *why) {
    static struct pair p;
    static int accepted;
    pair_open(&p, trusted, 0);
    fin_finish {
        fin_async {
            accepted = fin_tls_accept(p.server);
            if (accepted == 0) // TLS 1.3: the server is done before the client has seen its certificate
                accepted = (int)fin_tls_read(p.server, buffer, 1);
        };
        CHECK_EQ(fin_tls_connect(p.client, host), -EKEYREJECTED);
    }
    CHECK(strstr(fin_tls_error(p.client), why));
    CHECK_EQ(accepted, -EPROTO); // it was told
    CHECK_EQ(fin_tls_read(p.client, buffer, 1), -ENOTCONN);
    pair_close(&p);
}

// A handshake that was cancelled goes on as it was begun: nobody is told that another name has been looked at.
static void changes_its_mind(void) {
    static struct pair p;
    static int begun;
    for (int named = 0; named < 2; named++) {
        pair_open(&p, true, 0);
        fin_finish {
            fin_async { begun = fin_tls_connect(p.client, named ? "localhost" : NULL); };
            fin_cancel();
        }
        CHECK_EQ(begun, -ECANCELED);
        CHECK_EQ(fin_tls_connect(p.client, "example.org"), -EINVAL);
        CHECK_EQ(fin_tls_accept(p.client), -EINVAL);
        fin_finish {
            fin_async_call(pair_accept, &p);
            CHECK_EQ(fin_tls_connect(p.client, named ? "localhost" : NULL), 0);
        }
        CHECK_EQ(fin_tls_connect(p.server, NULL), -EINVAL);
        CHECK_EQ(fin_tls_connect(p.client, "example.org"), -EINVAL);
        pair_close(&p);
    }
}

// It is the server that wants a certificate; whether the server's is trusted this client does not ask.
static void refused_by_the_server(void) {
    static struct pair p;
    pair_open(&p, false, TLS1_2_VERSION);
    SSL_CTX_set_verify(p.contexts[1], SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_verify(p.contexts[0], SSL_VERIFY_NONE, NULL);
    fin_tls_free(p.server);
    fin_tls_free(p.client);
    CHECK_EQ(fin_tls_new(&p.client, p.contexts[0], p.fd[0]), 0);
    CHECK_EQ(fin_tls_new(&p.server, p.contexts[1], p.fd[1]), 0);
    fin_finish {
        fin_async { CHECK_EQ(fin_tls_accept(p.server), -EPROTO); };
        CHECK_EQ(fin_tls_connect(p.client, NULL), -EPROTO);
    }
    pair_close(&p);
}

// By somebody who has the name of one that is trusted, and not the key. OpenSSL says what the signature lacks before it says
// that the certificate is refused.
static void signed_by_another(void) {
    static struct pair p;
    struct certificate trusted;
    pair_open(&p, false, 0);
    CHECK(certificate_make(&trusted));
    X509_NAME *name = X509_get_subject_name(trusted.x509);
    X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC, (const unsigned char *)"authority", -1, -1, 0);
    X509_set_issuer_name(trusted.x509, name);
    X509_EXTENSION *signs = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:TRUE");
    CHECK(signs && X509_add_ext(trusted.x509, signs, -1) == 1);
    X509_EXTENSION_free(signs);
    CHECK(X509_sign(trusted.x509, trusted.key, EVP_sha256()) > 0);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(p.contexts[0]), trusted.x509);
    X509_set_issuer_name(p.certificate.x509, name);
    CHECK(X509_sign(p.certificate.x509, p.certificate.key, EVP_sha256()) > 0);
    fin_finish {
        fin_async { fin_tls_accept(p.server); };
        CHECK_EQ(fin_tls_connect(p.client, "localhost"), -EKEYREJECTED);
    }
    CHECK_EQ(SSL_get_verify_result(fin_tls_ssl(p.client)), X509_V_ERR_CERT_SIGNATURE_FAILURE);
    certificate_free(&trusted);
    pair_close(&p);
}

static void truncated(void) {
    struct pair p;
    pair_open(&p, true, 0);
    pair_connect(&p);
    CHECK_EQ(fin_tls_write(p.client, "all", 3), 3);
    shutdown(p.fd[0], SHUT_WR);
    CHECK_EQ(fin_tls_read(p.server, buffer, 10), 3);
    CHECK_EQ(fin_tls_read(p.server, buffer, 10), -ECONNABORTED); // is not the end of the data
    CHECK_EQ(fin_tls_read(p.server, buffer, 10), -ECONNABORTED);
    pair_close(&p);

    pair_open(&p, true, 0); // in the middle of the handshake
    close(p.fd[0]);
    p.fd[0] = -1;
    CHECK_EQ(fin_tls_accept(p.server), -ECONNABORTED);
    pair_close(&p);
}

// What goes from the client to the server passes through here, one bit of it changed.
static void tampered(unsigned bit) {
    struct pair p;
    int wire[2];
    pair_open(&p, true, 0);
    pair_connect(&p);
    stream_pair(wire);
    CHECK_EQ(fin_tls_write(p.client, "something", 9), 9);
    ssize_t n = recv(p.fd[1], buffer, sizeof buffer, 0);
    CHECK(n > 9);
    buffer[bit / 8 % (unsigned)n] ^= (char)(1 << bit % 8);
    CHECK_EQ(send(wire[0], buffer, (size_t)n, 0), n);
    shutdown(wire[0], SHUT_WR);
    CHECK(dup2(wire[1], p.fd[1]) >= 0);
    ssize_t r = fin_tls_read(p.server, buffer, sizeof buffer);
    CHECK(r == -EPROTO || r == -ECONNABORTED);
    CHECK_EQ(fin_tls_write(p.server, "x", 1), r); // it is over
    close(wire[0]);
    close(wire[1]);
    pair_close(&p);
}

int main(void) {
    garbage();
    refused(false, "localhost", ": self-signed certificate");
    refused(true, "example.org", ": hostname mismatch");
    refused(true, "127.0.0.2", ": IP address mismatch");
    changes_its_mind();
    refused_by_the_server();
    signed_by_another();
    truncated();
    for (unsigned bit = 0; bit < 31 * 8; bit += getenv("FIN_FEW") ? 29 : 3)
        tampered(bit);
    return 0;
}
