// SPDX-License-Identifier: BSD-2-Clause
// Reads, with a stack and with a continuation, and writes against cancellation: what they say was read and written is what
// was. A cancelled handshake goes on.
#include "pair.h"

enum { CHUNK = 6000 };

static struct pair p;
static unsigned seed = 1, sent, received;
static int done, cancelled;

static void fill(unsigned char *to, unsigned at) {
    for (unsigned i = 0; i < CHUNK; i++)
        to[i] = (unsigned char)((at + i) * 31 + (at + i) / 256);
}

static void count(ssize_t n) { ++*(n == -ECANCELED ? &cancelled : &done); }

static void write_one(void *unused) {
    unsigned char data[CHUNK];
    (void)unused;
    fill(data, sent);
    ssize_t n = fin_tls_write(p.client, data, sizeof data);
    CHECK(n > 0 || n == -ECANCELED);
    sent += n > 0 ? (unsigned)n : 0;
    count(n);
}

static void take(const unsigned char *data, ssize_t n) {
    unsigned char expected[CHUNK];
    CHECK(n > 0 || n == -ECANCELED);
    if (n > 0) {
        fill(expected, received);
        CHECK(memcmp(data, expected, (size_t)n) == 0);
        received += (unsigned)n;
    }
    count(n);
}

static void read_one(void *unused) {
    unsigned char data[CHUNK];
    (void)unused;
    ssize_t n = fin_tls_read(p.server, data, 1 + next_random(&seed) % CHUNK);
    take(data, n);
}

static struct fin_more_on on[2]; // two take turns
static unsigned char shared[CHUNK];
static int done_on[2];

static void have_read(void *state, int n) {
    (void)state;
    take(shared, n);
    done_on[n == -ECANCELED]++;
    fin_cont_end();
}

static void read_one_on(void *state, int unused) {
    int i = *(int *)state;
    (void)unused;
    fin_tls_read_on(p.server, shared, 1 + next_random(&seed) % CHUNK, &on[i], have_read, NULL, 0);
    CHECK(false);
}

static void race(int rounds) {
    for (int i = 0; i < rounds; i++) {
        fin_finish {
            if (next_random(&seed) % 3)
                fin_async_call(write_one, NULL);
            if (next_random(&seed) % 3)
                fin_async_call(read_one, NULL);
            for (int k = (int)(next_random(&seed) % 3) - 1; k >= 0; k--)
                CHECK(fin_async_cont(read_one_on, &k, sizeof k) != NULL);
            for (unsigned k = next_random(&seed) % 6; k > 0; k--)
                fin_yield();
            if (next_random(&seed) % 4 == 0)
                CHECK_EQ(fin_sleep_nc(1), 0);
            fin_cancel();
        }
    }
}

static void handshake_in_pieces(void) {
    static int results[2] = {1, 1};
    for (int i = 0; results[0] != 0 || results[1] != 0; i++) {
        fin_finish {
            fin_async { results[0] = fin_tls_connect(p.client, "localhost"); };
            fin_async { results[1] = fin_tls_accept(p.server); };
            for (int k = 0; k < i % 4; k++)
                fin_yield();
            if (i % 4 == 3)
                CHECK_EQ(fin_sleep_nc(FIN_MS), 0);
            fin_cancel();
        }
        for (int k = 0; k < 2; k++)
            CHECK(results[k] == 0 || results[k] == -ECANCELED);
    }
}

int main(void) {
    pair_open(&p, true, 0);
    int small = 4096; // so that writes wait
    setsockopt(p.fd[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    handshake_in_pieces();
    done = cancelled = 0;
    race(getenv("FIN_FEW") ? 300 : 20000);
    CHECK(done > 0);
    CHECK(cancelled > 0);
    CHECK(done_on[0] > 0);
    CHECK(done_on[1] > 0);
    fin_finish {
        fin_async {
            CHECK_EQ(fin_tls_flush(p.client), 0);
            CHECK_EQ(fin_tls_shutdown(p.client), 0);
        };
        while (received < sent)
            read_one(NULL);
        char c;
        CHECK_EQ(fin_tls_read(p.server, &c, 1), 0);
    }
    CHECK_EQ(received, sent);
    pair_close(&p);
    return 0;
}
