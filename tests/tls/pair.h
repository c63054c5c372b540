// SPDX-License-Identifier: BSD-2-Clause
// Two ends of a TLS connection in one thread.
#ifndef FIN_TESTS_TLS_PAIR_H
#define FIN_TESTS_TLS_PAIR_H

#include <fin/tls.h>

#include "certificate.h"
#include "net.h"

struct pair {
    int fd[2];
    struct fin_tls *client, *server;
    SSL_CTX *contexts[2];
    struct certificate certificate;
};

static inline void pair_open(struct pair *p, bool trusted, int version) {
    stream_pair(p->fd);
    CHECK(certificate_make(&p->certificate));
    p->contexts[0] = client_context(trusted ? &p->certificate : NULL);
    p->contexts[1] = server_context(&p->certificate);
    if (version) {
        CHECK_EQ(SSL_CTX_set_min_proto_version(p->contexts[0], version), 1);
        CHECK_EQ(SSL_CTX_set_max_proto_version(p->contexts[0], version), 1);
    }
    CHECK_EQ(fin_tls_new(&p->client, p->contexts[0], p->fd[0]), 0);
    CHECK_EQ(fin_tls_new(&p->server, p->contexts[1], p->fd[1]), 0);
}

static inline void pair_close(struct pair *p) {
    fin_tls_free(p->client);
    fin_tls_free(p->server);
    for (int i = 0; i < 2; i++) {
        SSL_CTX_free(p->contexts[i]);
        close(p->fd[i]);
    }
    certificate_free(&p->certificate);
}

static inline void pair_accept(void *pair) { CHECK_EQ(fin_tls_accept(((struct pair *)pair)->server), 0); }

static inline void pair_connect(struct pair *p) {
    fin_finish {
        fin_async_call(pair_accept, p);
        CHECK_EQ(fin_tls_connect(p->client, "localhost"), 0);
    }
}

#endif
