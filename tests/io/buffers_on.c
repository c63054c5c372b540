// SPDX-License-Identifier: BSD-2-Clause
// Many connections receive into few buffers without stacks: every byte comes once and in order, buffers in plenty or one
// for all. A cancelled wait received nothing; the end of the stream takes no buffer.
#include <fin/on.h>
#include <fin/stream.h>

#include "net.h"

enum { CONNECTIONS = 5, SIZE = 64, ROUNDS = 60 };

static struct connection {
    struct fin_buffers_on on;
    void *piece;
    int fd[2];
    unsigned sent, received;
} connections[CONNECTIONS];

static struct fin_buffers *pool;
static unsigned seed = 3, cancelled, ended;

static void got(void *state, int n);

static void wait_for_more(struct connection *c) {
    struct mark {
        struct connection *c;
        long mark;
    } mark = {c, 4711};
    CHECK_EQ(fin_buffers_recv_on(pool, c->fd[0], &c->piece, &c->on, got, &mark, sizeof mark), 0);
    CHECK(false);
}

static void got(void *state, int n) {
    struct connection *c = *(struct connection **)state;
    CHECK_EQ(((long *)state)[1], 4711);
    if (n <= 0) {
        CHECK(n == 0 || n == -ECANCELED);
        CHECK(c->piece == NULL);
        cancelled += n < 0;
        ended += n == 0;
        fin_cont_end();
    }
    const unsigned char *p = c->piece;
    for (int i = 0; i < n; i++)
        CHECK_EQ(p[i], (c->received + (unsigned)i) % 251);
    c->received += (unsigned)n;
    if (next_random(&seed) % 8 == 0)
        CHECK_EQ(fin_sleep_nc(1), 0); // others lack the buffer meanwhile
    CHECK_EQ(fin_buffers_put(pool, c->piece), 0);
    wait_for_more(c);
}

static void begin(void *state, int result) {
    CHECK_EQ(result, 0);
    wait_for_more(*(struct connection **)state);
}

static void send_some(struct connection *c) {
    unsigned char p[3 * SIZE];
    size_t size = next_random(&seed) % sizeof p + 1;
    for (size_t i = 0; i < size; i++)
        p[i] = (unsigned char)((c->sent + i) % 251);
    c->sent += (unsigned)size;
    CHECK_EQ(fin_send_nc(c->fd[1], p, size, 0), size);
}

static void all(unsigned buffers) {
    cancelled = ended = 0;
    CHECK_EQ(fin_buffers_open(&pool, buffers, SIZE), 0);
    for (int i = 0; i < CONNECTIONS; i++) {
        connections[i].sent = connections[i].received = 0;
        stream_pair(connections[i].fd);
    }
    for (int round = 0; round < ROUNDS / 10; round++) {
        fin_finish {
            for (int i = 0; i < CONNECTIONS; i++) {
                struct connection *c = &connections[i];
                fin_async_cont(begin, &c, sizeof c);
            }
            if (round % 2) {
                fin_yield();
                CHECK_EQ(fin_buffers_close(pool), -EBUSY);
            }
            for (int i = 0; i < CONNECTIONS; i++)
                send_some(&connections[i]);
            if (round % 3)
                CHECK_EQ(fin_sleep(1000), 0);
            fin_cancel();
        }
    }
    CHECK_EQ(cancelled, CONNECTIONS * (ROUNDS / 10));
    fin_finish {
        for (int i = 0; i < CONNECTIONS; i++) {
            struct connection *c = &connections[i];
            fin_async_cont(begin, &c, sizeof c);
        }
        for (int i = 0; i < CONNECTIONS * ROUNDS; i++) {
            send_some(&connections[next_random(&seed) % CONNECTIONS]);
            if (i % 4 == 0)
                fin_yield();
        }
        for (int i = 0; i < CONNECTIONS; i++)
            close(connections[i].fd[1]);
    }
    CHECK_EQ(ended, CONNECTIONS);
    for (int i = 0; i < CONNECTIONS; i++) {
        CHECK_EQ(connections[i].received, connections[i].sent);
        close(connections[i].fd[0]);
    }
    CHECK_EQ(fin_buffers_close(pool), 0);
}

int main(void) {
    all(2 * CONNECTIONS);
    all(1);
    return 0;
}
