// SPDX-License-Identifier: BSD-2-Clause
// A client writes to a server that reads nothing before it has written all. Meanwhile OpenSSL has more to answer than there
// is room for behind what the client writes: the client reads on all the same, with a stack or without.
#include "pair.h"

enum { CHUNK = 16000, CHUNKS = 8, ASKED = 400 }; // an answer takes some 27 bytes

static struct pair p;
static char sent[CHUNK], got[CHUNK], byte;
static unsigned came;

static void writes(void *unused) {
    (void)unused;
    for (int i = 0; i < CHUNKS; i++)
        CHECK_EQ(fin_tls_write(p.client, sent, CHUNK), CHUNK);
}

static void reads_all(void) {
    for (size_t n = 0; n < CHUNKS * (size_t)CHUNK;) {
        ssize_t r = fin_tls_read(p.server, got, sizeof got);
        CHECK(r > 0);
        for (ssize_t i = 0; i < r; i++)
            CHECK_EQ(got[i], sent[(n + (size_t)i) % CHUNK]);
        n += (size_t)r;
    }
}

static void serves(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < ASKED; i++) {
        CHECK_EQ(SSL_key_update(fin_tls_ssl(p.server), SSL_KEY_UPDATE_REQUESTED), 1);
        CHECK_EQ(fin_tls_write(p.server, "k", 1), 1);
    }
    while (came < ASKED)
        CHECK_EQ(fin_sleep(FIN_MS), 0);
    reads_all();
}

static void reads(void *unused) {
    (void)unused;
    for (; came < ASKED; came++)
        CHECK_EQ(fin_tls_read(p.client, &byte, 1), 1);
}

static void reads_on(void *unused, int result) {
    static struct fin_more_on on;
    (void)unused;
    CHECK(result == 0 || result == 1);
    came += result == 1;
    if (came == ASKED)
        fin_cont_end();
    fin_tls_read_on(p.client, &byte, 1, &on, reads_on, NULL, 0);
    CHECK(false);
}

static void open_small(void) {
    int small = 4096;
    pair_open(&p, true, TLS1_3_VERSION);
    for (int i = 0; i < 2; i++)
        setsockopt(p.fd[i], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    pair_connect(&p);
}

static void all(bool with_stack) {
    open_small();
    came = 0;
    fin_finish {
        fin_async_call(writes, NULL);
        fin_async_call(serves, NULL);
        if (with_stack)
            fin_async_call(reads, NULL);
        else
            CHECK(fin_async_cont(reads_on, NULL, 0) != NULL);
    }
    CHECK_EQ(came, ASKED);
    pair_close(&p);
}

// Until the client does not read on, and the server's socket is full. All of it comes in the end.
static void asks_without_end(void) {
    unsigned asked = 0, limit = 100 * ASKED;
    bool full = false;
    open_small();
    came = 0;
    fin_finish {
        fin_async_call(writes, NULL);
        fin_async { // what the server has written comes, and the client is cancelled then
            while (fin_tls_read(p.client, &byte, 1) == 1)
                came++;
        };
        while (!full && asked < limit) {
            CHECK_EQ(SSL_key_update(fin_tls_ssl(p.server), SSL_KEY_UPDATE_REQUESTED), 1);
            fin_timeout(500 * FIN_MS) {
                asked += fin_tls_write(p.server, "k", 1) == 1;
            }
            full = fin_timed_out() && came > 4 * ASKED;
        }
        CHECK(full && came < asked);
        reads_all();
        while (came < asked)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel();
    }
    pair_close(&p);
}

int main(void) {
    alarm(20);
    for (int i = 0; i < CHUNK; i++)
        sent[i] = (char)(i % 251);
    all(true);
    all(false);
    if (!on_valgrind()) // where ten thousand updates take long
        asks_without_end();
    return 0;
}
