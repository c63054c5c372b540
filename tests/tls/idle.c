// SPDX-License-Identifier: BSD-2-Clause
// A connection has buffers while something is in them: one that is idle has none, be there somebody who waits to read or
// not; one is kept by the library for the next. Where there is no memory nothing has happened, and the next call does what
// was to be done. (The linker wraps malloc and its like; OpenSSL is told of ours.)
#include <openssl/crypto.h>

#include "pair.h"

enum { LARGE = 16384, MOST = 64 };

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);

static void *large[MOST]; // what there is of that size
static bool no_memory;    // for what is not OpenSSL's

static void *note(void *p, size_t n) {
    int i = 0;
    if (!p || n < LARGE)
        return p;
    while (large[i])
        CHECK(++i < MOST);
    large[i] = p;
    return p;
}

static void forget(const void *p) {
    for (int i = 0; p && i < MOST; i++)
        if (large[i] == p)
            large[i] = NULL;
}

void *__wrap_malloc(size_t n) { return no_memory && n >= LARGE ? NULL : note(__real_malloc(n), n); }
void *__wrap_calloc(size_t n, size_t size) { return note(__real_calloc(n, size), n * size); }
void *__wrap_realloc(void *p, size_t n) {
    forget(p);
    return note(__real_realloc(p, n), n);
}
void __wrap_free(void *p) {
    forget(p);
    __real_free(p);
}

static void *get(size_t n, const char *file, int line) {
    (void)file, (void)line;
    return n ? note(__real_malloc(n), n) : NULL;
}
static void *resize(void *p, size_t n, const char *file, int line) {
    (void)file, (void)line;
    return __wrap_realloc(p, n);
}
static void give_back(void *p, const char *file, int line) {
    (void)file, (void)line;
    __wrap_free(p);
}

static int buffers(void) {
    int n = 0;
    for (int i = 0; i < MOST; i++)
        n += large[i] != NULL;
    return n;
}

static struct pair p;
static char data[LARGE], got[LARGE];

static FIN_BLOCKING void moves(struct fin_tls *from, struct fin_tls *to, size_t n) {
    size_t at = 0;
    fin_shared ssize_t written = 0;
    fin_finish {
        fin_async { written = fin_tls_write(from, data, n); };
        while (at < n) {
            ssize_t r = fin_tls_read(to, got + at, n - at);
            CHECK(r > 0);
            at += (size_t)r;
        }
    }
    CHECK_EQ(written, n);
    CHECK(memcmp(data, got, n) == 0);
}

static void ended(void *state, int n) {
    *(ssize_t *)*(void **)state = n;
    fin_cont_end();
}

static struct fin_more_on on;
static struct fin_tls *reader;
static void begin_read(void *state, int unused) {
    (void)unused;
    fin_tls_read_on(reader, got, sizeof got, &on, ended, state, sizeof(void *));
    CHECK(false);
}

static void reads(void *result) { *(ssize_t *)result = fin_tls_read(p.client, data, 1); }

static void waits(int others) {
    static ssize_t n[2];
    ssize_t *to = &n[1];
    n[0] = n[1] = 1 << 20;
    reader = p.server;
    fin_finish {
        fin_async_call(reads, &n[0]);
        CHECK(fin_async_cont(begin_read, &to, sizeof to) != NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(buffers(), others);
        fin_cancel();
    }
    CHECK_EQ(n[0], -ECANCELED);
    CHECK_EQ(n[1], -ECANCELED);
    CHECK_EQ(buffers(), others);
}

static void idle(int version) {
    int others = buffers();
    pair_open(&p, true, version);
    pair_connect(&p);
    waits(others); // tickets come, and no data
    for (size_t n = 1; n <= sizeof data; n *= 4) {
        moves(p.client, p.server, n);
        moves(p.server, p.client, n);
        CHECK_EQ(buffers(), others);
        waits(others);
    }
    CHECK_EQ(fin_tls_shutdown(p.client), 0);
    CHECK_EQ(fin_tls_write(p.client, "", 0), -EPIPE);
    CHECK_EQ(fin_tls_read(p.server, got, 1), 0);
    pair_close(&p);
    CHECK_EQ(buffers(), others);
}

// ---- no memory

static void accepts(void *unused) {
    (void)unused;
    int r, lacked = 0;
    while ((r = fin_tls_accept(p.server)) == -ENOMEM) {
        lacked++;
        no_memory = false;
    }
    CHECK_EQ(r, 0);
    CHECK_EQ(lacked, 1);
}

// From here on. A connection whose peer does not read has the one that the library keeps.
static struct pair others[8];
static int holders;

static FIN_BLOCKING void lack_memory(void) {
    static ssize_t n;
    struct pair *o = &others[holders++];
    pair_open(o, true, 0);
    pair_connect(o);
    do {
        fin_timeout(FIN_MS) {
            n = fin_tls_write(o->client, data, sizeof data);
        }
    } while (n > 0);
    CHECK_EQ(n, -ECANCELED);
    no_memory = true;
}

static void handshake_lacks(void) {
    pair_open(&p, true, TLS1_3_VERSION);
    SSL_set_post_handshake_auth(fin_tls_ssl(p.client), 1);
    lack_memory();
    for (int i = 0; i < 3; i++)
        CHECK_EQ(fin_tls_connect(p.client, "localhost"), -ENOMEM);
    no_memory = false;
    fin_finish {
        fin_async {
            CHECK_EQ(fin_tls_connect(p.client, "localhost"), 0);
            CHECK_EQ(fin_tls_write(p.client, "x", 1), 1);
        };
        lack_memory();
        fin_async_call(accepts, NULL);
    }
    CHECK_EQ(fin_tls_read(p.server, got, 2), 1);
}

static void lacks(void) {
    lack_memory();
    for (int i = 0; i < 3; i++)
        CHECK_EQ(fin_tls_write(p.client, "lost", 4), -ENOMEM);
    no_memory = false;
    moves(p.client, p.server, 100); // and nothing else comes
}

static FIN_BLOCKING ssize_t read_once(bool is_explicit) {
    static ssize_t n;
    ssize_t *to = &n;
    fin_finish {
        if (is_explicit)
            CHECK(fin_async_cont(begin_read, &to, sizeof to) != NULL);
        else
            n = fin_tls_read(reader, got, sizeof got);
    }
    return n;
}

// The peer wants an answer, which is written while data is read: here who the client is.
static FIN_BLOCKING void answer_lacks(bool is_explicit) {
    SSL *server = fin_tls_ssl(p.server);
    SSL_set_verify(server, SSL_VERIFY_PEER, NULL);
    CHECK_EQ(SSL_verify_client_post_handshake(server), 1);
    CHECK_EQ(fin_tls_write(p.server, "abc", 3), 3);
    lack_memory();
    reader = p.client;
    for (int i = 0; i < 3; i++)
        CHECK_EQ(read_once(is_explicit), -ENOMEM);
    CHECK_EQ(fin_tls_write(p.client, "lost", 4), -ENOMEM);
    no_memory = false;
    CHECK_EQ(read_once(is_explicit), 3);
    CHECK(memcmp(got, "abc", 3) == 0);
    moves(p.client, p.server, 10); // the answer, too
}

static void shutdown_lacks(void) {
    lack_memory();
    CHECK_EQ(fin_tls_shutdown(p.client), -ENOMEM);
    no_memory = false;
    moves(p.client, p.server, 10); // it is not said yet
    CHECK_EQ(fin_tls_shutdown(p.client), 0);
    no_memory = true;
    CHECK_EQ(fin_tls_shutdown(p.client), 0);
    no_memory = false;
    CHECK_EQ(fin_tls_read(p.server, got, 1), 0);
    pair_close(&p);
}

int main(void) {
    CHECK_EQ(CRYPTO_set_mem_functions(get, resize, give_back), 1);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7);
    CHECK_EQ(fin_sleep(1), 0);
    pair_open(&p, true, 0); // what OpenSSL makes at its first use
    pair_connect(&p);
    pair_close(&p);
    int kept = buffers();
    idle(TLS1_3_VERSION);
    idle(TLS1_2_VERSION);
    handshake_lacks();
    lacks();
    answer_lacks(false);
    answer_lacks(true);
    shutdown_lacks();
    while (holders)
        pair_close(&others[--holders]);
    CHECK_EQ(buffers(), kept);
    return 0;
}
