// SPDX-License-Identifier: BSD-2-Clause
// TLS: two ends in one thread agree, exchange data and part; one reads with a continuation. The memory of OpenSSL is ours;
// what it makes at its first use and keeps for ever has been made before, because there it does not try again.
#define _GNU_SOURCE
#include <openssl/crypto.h>

#include "fault.h"
#include "certificate.h"

#include <fin/tls.h>

enum { SIZE = 20000 };
const int threads = 0;

static struct certificate certificate;
static SSL_CTX *contexts[2];
static int fd[2];

static void *get(size_t n, const char *file, int line) {
    (void)file;
    (void)line;
    return n ? malloc(n) : NULL;
}
static void *resize(void *p, size_t n, const char *file, int line) {
    (void)file;
    (void)line;
    return realloc(p, n);
}
static void give_back(void *p, const char *file, int line) {
    (void)file;
    (void)line;
    if (p)
        free(p);
}

static SSL *new_end(int i, BIO *b) {
    SSL *s = SSL_new(contexts[i]);
    CHECK(s && b);
    SSL_set_bio(s, b, b);
    (i ? SSL_set_accept_state : SSL_set_connect_state)(s);
    return s;
}

// Without Fin.
static void begin(void) {
    BIO *b[2];
    CHECK_EQ(CRYPTO_set_mem_functions(get, resize, give_back), 1);
    CHECK(certificate_make(&certificate));
    contexts[0] = client_context(&certificate);
    contexts[1] = server_context(&certificate);
    CHECK(BIO_get_new_index() > 0);
    CHECK_EQ(BIO_new_bio_pair(&b[0], 0, &b[1], 0), 1);
    SSL *s[2] = {new_end(0, b[0]), new_end(1, b[1])};
    CHECK_EQ(SSL_set1_host(s[0], "localhost"), 1);
    for (int i = 0; i < 10; i++)
        SSL_do_handshake(s[i % 2]);
    CHECK(SSL_is_init_finished(s[0]) && SSL_is_init_finished(s[1]));
    SSL_free(s[0]);
    SSL_free(s[1]);
}
void (*const prepare)(void) = begin;

// What OpenSSL does not say was for want of memory; and what the other end says then.
static bool good(ssize_t r) {
    return fine(spoiled() && (r == -EPROTO || r == -EKEYREJECTED || r == -ENOTCONN) ? -ECANCELED : r);
}

static bool move_all(struct fin_tls *t, char *p, bool out) {
    for (size_t done = 0; done < SIZE;) {
        ssize_t n = out ? fin_tls_write(t, p + done, SIZE - done) : fin_tls_read(t, p + done, SIZE - done);
        if (!good(n))
            return false;
        if (n == 0)
            return good(-ECONNABORTED);
        done += (size_t)n;
    }
    return true;
}

// As move_all, inwards.
struct taking {
    struct fin_tls *t;
    struct fin_more_on on;
    char *to;
    size_t done;
    bool all;
};

static void takes(struct taking *k);

static void took(void *state, int n) {
    struct taking *k = *(struct taking **)state;
    k->all = good(n) && (n > 0 || good(-ECONNABORTED));
    k->done += n > 0 ? (size_t)n : 0;
    if (k->all && k->done < SIZE)
        takes(k);
    fin_cont_end();
}

static void takes(struct taking *k) {
    int error = fin_tls_read_on(k->t, k->to + k->done, SIZE - k->done, &k->on, took, &k, sizeof k);
    k->all = good(error);
    fin_cont_end();
}

static void begin_taking(void *state, int unused) {
    (void)unused;
    takes(*(struct taking **)state);
}

static bool take_all(struct fin_tls *t, char *p) {
    static struct taking taking;
    struct taking *k = &taking;
    taking = (struct taking){.t = t, .to = p};
    bool begun = false;
    fin_finish {
        begun = fin_async_cont(begin_taking, &k, sizeof k) != NULL;
    }
    return begun ? k->all : fine(-ENOMEM);
}

// The other end is not to wait for this one.
static void part(int end) { shutdown(end, SHUT_RDWR); }

static void serve(void *unused) {
    (void)unused;
    static char text[SIZE];
    struct fin_tls *t;
    if (!fine(fin_tls_new(&t, contexts[1], fd[1])))
        return part(fd[1]);
    bool all = good(fin_tls_accept(t)) && take_all(t, text) && move_all(t, text, true) && good(fin_tls_shutdown(t));
    fin_tls_free(t);
    if (!all)
        part(fd[1]);
}

static void ask(void *unused) {
    (void)unused;
    static char out[SIZE], in[SIZE];
    struct fin_tls *t;
    if (!fine(fin_tls_new(&t, contexts[0], fd[0])))
        return part(fd[0]);
    for (int i = 0; i < SIZE; i++)
        out[i] = (char)(i * 7);
    memset(in, 0, SIZE);
    bool all = good(fin_tls_connect(t, "localhost")) && move_all(t, out, true) && move_all(t, in, false) &&
               good(fin_tls_shutdown(t));
    CHECK(!all || memcmp(in, out, SIZE) == 0);
    fin_tls_free(t);
    if (!all)
        part(fd[0]);
}

void scenario(void) {
    if (!fine_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd)))
        return;
    fin_finish {
        fin_async_eager_call(serve, NULL);
        fin_async_eager_call(ask, NULL);
    }
    close(fd[0]);
    close(fd[1]);
    OPENSSL_thread_stop();
}
