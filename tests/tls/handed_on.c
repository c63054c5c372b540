// SPDX-License-Identifier: BSD-2-Clause
// A connection is used by one thread after another: one makes it, others agree with the peer, exchange data and say that
// this was all. Threads that do so at once have one SSL_CTX.
#include <fin/thread.h>

#include "pair.h"

enum { PAIRS = 4, SIZE = 100000 };

static struct pair all[PAIRS];

static void in_a_thread(void (*fn)(void *), void *arg) {
    struct fin_thread_handle t;
    CHECK_EQ(fin_thread_start(&t, fn, arg), 0);
    fin_thread_join(&t);
}

static void receives(void *pair) {
    struct pair *p = pair;
    static __thread char b[3000];
    size_t got = 0;
    ssize_t n;
    while ((n = fin_tls_read(p->server, b, sizeof b)) > 0) {
        for (ssize_t i = 0; i < n; i++)
            CHECK_EQ(b[i], (char)(got++ * 7));
    }
    CHECK_EQ(n, 0);
    CHECK_EQ(got, SIZE);
}

static void ends(void *pair) { CHECK_EQ(fin_tls_shutdown(((struct pair *)pair)->server), 0); }

static void sends(void *pair) {
    struct pair *p = pair;
    static __thread char b[SIZE];
    char c;
    for (size_t i = 0; i < SIZE; i++)
        b[i] = (char)(i * 7);
    CHECK_EQ(fin_tls_connect(p->client, "localhost"), 0);
    for (size_t at = 0; at < SIZE;) {
        ssize_t n = fin_tls_write(p->client, b + at, SIZE - at);
        CHECK(n > 0);
        at += (size_t)n;
    }
    CHECK_EQ(fin_tls_shutdown(p->client), 0);
    CHECK_EQ(fin_tls_read(p->client, &c, 1), 0);
}

static void takes_turns(void *pair) {
    struct fin_thread_handle peer;
    CHECK_EQ(fin_thread_start(&peer, sends, pair), 0);
    in_a_thread(pair_accept, pair);
    in_a_thread(receives, pair);
    in_a_thread(ends, pair);
    fin_thread_join(&peer);
}

int main(void) {
    struct fin_thread_handle t[PAIRS];
    pair_open(&all[0], true, 0);
    for (int i = 1; i < PAIRS; i++) {
        stream_pair(all[i].fd);
        CHECK_EQ(fin_tls_new(&all[i].client, all[0].contexts[0], all[i].fd[0]), 0);
        CHECK_EQ(fin_tls_new(&all[i].server, all[0].contexts[1], all[i].fd[1]), 0);
    }
    for (int i = 0; i < PAIRS; i++)
        CHECK_EQ(fin_thread_start(&t[i], takes_turns, &all[i]), 0);
    for (int i = 0; i < PAIRS; i++)
        fin_thread_join(&t[i]);
    for (int i = 1; i < PAIRS; i++) {
        fin_tls_free(all[i].client);
        fin_tls_free(all[i].server);
        close(all[i].fd[0]);
        close(all[i].fd[1]);
    }
    pair_close(&all[0]);
    return 0;
}
