// SPDX-License-Identifier: BSD-2-Clause
// Both ends of a connection read and write at once, more than sockets hold; then each says that this was all. TLS 1.2 and
// 1.3.
#include "pair.h"

enum { SIZE = 1 << 20 };

static unsigned char data[2][SIZE];

static void write_all(struct fin_tls *t, const unsigned char *p) {
    for (size_t at = 0; at < SIZE;) {
        ssize_t n = fin_tls_write(t, p + at, SIZE - at);
        CHECK(n > 0 && n <= 16384);
        at += (size_t)n;
    }
    CHECK_EQ(fin_tls_shutdown(t), 0);
    CHECK_EQ(fin_tls_shutdown(t), 0);
    CHECK_EQ(fin_tls_write(t, p, 1), -EPIPE);
}

static void read_all(struct fin_tls *t, const unsigned char *expected) {
    static unsigned char buffer[30000];
    size_t at = 0;
    ssize_t n;
    while ((n = fin_tls_read(t, buffer, at % 2 ? sizeof buffer : 1000)) > 0) {
        CHECK(memcmp(buffer, expected + at, (size_t)n) == 0);
        at += (size_t)n;
    }
    CHECK_EQ(n, 0);
    CHECK_EQ(at, SIZE);
    CHECK_EQ(fin_tls_read(t, buffer, 1), 0);
}

static void exchange(int version) {
    static struct pair p;
    char c;
    pair_open(&p, true, version);
    CHECK_EQ(fin_tls_read(p.client, &c, 1), -ENOTCONN);
    CHECK_EQ(fin_tls_write(p.client, &c, 1), -ENOTCONN);
    pair_connect(&p);
    CHECK_EQ(SSL_version(fin_tls_ssl(p.client)), version);
    fin_finish {
        fin_async { read_all(p.server, data[0]); };
        fin_async { write_all(p.server, data[1]); };
        fin_async { read_all(p.client, data[1]); };
        write_all(p.client, data[0]);
    }
    CHECK(fin_tls_error(p.client)[0] == 0);
    pair_close(&p);
}

int main(void) {
    unsigned seed = 1;
    for (int i = 0; i < SIZE; i++) {
        data[0][i] = (unsigned char)next_random(&seed);
        data[1][i] = (unsigned char)next_random(&seed);
    }
    exchange(TLS1_3_VERSION);
    exchange(TLS1_2_VERSION);
    return 0;
}
