// SPDX-License-Identifier: BSD-2-Clause
// Handshakes, writes and ends with continuations: they say what the calls with a stack do, and wait without one, whatever
// the peer does not do. What is refused has done nothing. (everything.c: at random; read_on.c: reading)
#include "pair.h"

enum { MANY = 20 };

static struct pair p;

struct call {
    struct fin_tls *t;
    int (*begin)(struct call *c);
    struct fin_more_on on;
    const void *data;
    size_t size;
    int result;
};

static void over(void *state, int r) {
    struct call *c = *(struct call **)state;
    c->result = r;
    fin_cont_end();
}
#define REST &c->on, over, &c, sizeof c

static int accepts(struct call *c) { return fin_tls_accept_on(c->t, REST); }
static int connects(struct call *c) { return fin_tls_connect_on(c->t, c->data, REST); }
static int writes(struct call *c) { return fin_tls_write_on(c->t, c->data, c->size, REST); }
static int flushes(struct call *c) { return fin_tls_flush_on(c->t, REST); }
static int ends(struct call *c) { return fin_tls_shutdown_on(c->t, REST); }

static void begins(void *state, int unused) {
    struct call *c = *(struct call **)state;
    (void)unused;
    c->result = c->begin(c);
    CHECK(false);
}

#define START(c)                                                                                                            \
    do {                                                                                                                    \
        (c)->result = 1000000;                                                                                              \
        CHECK(fin_async_cont(begins, &(struct call *){c}, sizeof(struct call *)) != NULL);                                  \
    } while (0)

static FIN_BLOCKING int result_of(struct call *c) {
    fin_finish {
        START(c);
    }
    return c->result;
}

static uint64_t stacks(void) {
    struct fin_stats s;
    fin_stats(&s);
    return s.stacks_used;
}

static void waits(const struct call *c) { CHECK_EQ(c->result, 1000000); }

// Peers that do not begin, or not go on.
static void handshakes_of_silent(void) {
    static struct pair pairs[MANY];
    static struct call calls[MANY];
    for (int i = 0; i < MANY; i++) {
        pair_open(&pairs[i], true, 0);
        calls[i] = (struct call){.t = pairs[i].server, .begin = accepts};
    }
    fin_finish {
        for (int i = 0; i < MANY; i++) {
            if (i % 2)
                CHECK_EQ(send(pairs[i].fd[0], "\x16\x03\x01\x02", 4, 0), 4);
            START(&calls[i]);
        }
        CHECK_EQ(fin_sleep(2 * FIN_MS), 0);
        CHECK_EQ(stacks(), 1);
        for (int i = 0; i < MANY / 2; i++) {
            waits(&calls[i]);
            shutdown(pairs[i].fd[0], SHUT_WR);
        }
        while (calls[MANY / 2 - 1].result == 1000000)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel();
    }
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(calls[i].result, i < MANY / 2 ? -ECONNABORTED : -ECANCELED);
        pair_close(&pairs[i]);
    }
}

// One that is cancelled goes on where it was, with a stack or without; two for one end take turns.
static void handshake_goes_on(void) {
    static struct call client, server, other;
    pair_open(&p, true, 0);
    client = (struct call){.t = p.client, .begin = connects, .data = "localhost"};
    server = (struct call){.t = p.server, .begin = accepts};
    other = server;
    fin_finish {
        START(&client);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        waits(&client);
        fin_cancel();
    }
    CHECK_EQ(client.result, -ECANCELED);
    client.data = "elsewhere";
    CHECK_EQ(result_of(&client), -EINVAL);
    client.begin = accepts;
    CHECK_EQ(result_of(&client), -EINVAL);
    fin_finish {
        START(&server);
        START(&other);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        waits(&server);
        CHECK_EQ(fin_tls_connect(p.client, "localhost."), 0);
    }
    CHECK_EQ(server.result, 0);
    CHECK_EQ(other.result, 0);
    client = (struct call){.t = p.client, .begin = connects, .data = NULL};
    CHECK_EQ(result_of(&client), 0); // it is done
    pair_close(&p);
}

static void handshake_refused(void) {
    static struct call client, server;
    pair_open(&p, false, 0); // the client trusts nobody
    client = (struct call){.t = p.client, .begin = connects, .data = "localhost"};
    server = (struct call){.t = p.server, .begin = accepts};
    fin_finish {
        START(&client);
        START(&server);
    }
    CHECK_EQ(client.result, -EKEYREJECTED);
    CHECK_EQ(result_of(&client), -EKEYREJECTED);
    CHECK(fin_tls_error(p.client)[0] != 0);
    pair_close(&p);
}

static void fill(int fd) {
    static char many[65536];
    for (size_t size = sizeof many; size > 0; size /= 16)
        while (send(fd, many, size, MSG_DONTWAIT) > 0)
            continue;
}

static void opened(void) {
    pair_open(&p, true, 0);
    pair_connect(&p);
}

// What is taken is sent once, after what was on its way; what is not, is not.
static void writes_late(void) {
    static char data[9000], got[sizeof data + 6];
    static struct call first, second, flush, last;
    int few = 2048;
    opened();
    CHECK_EQ(setsockopt(p.fd[1], SOL_SOCKET, SO_SNDBUF, &few, sizeof few), 0);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i % 251);
    first = (struct call){.t = p.server, .begin = writes, .data = data, .size = sizeof data};
    second = (struct call){.t = p.server, .begin = writes, .data = "second", .size = 6};
    flush = (struct call){.t = p.server, .begin = flushes};
    last = (struct call){.t = p.server, .begin = writes, .data = "", .size = 0};
    fin_finish {
        START(&first);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        START(&second);
        START(&flush);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        waits(&first);
        waits(&second);
        waits(&flush);
        CHECK_EQ(stacks(), 1);
        fin_cancel();
    }
    CHECK_EQ(first.result, sizeof data);
    CHECK_EQ(second.result, -ECANCELED);
    CHECK_EQ(flush.result, -ECANCELED);
    fin_finish {
        START(&flush);
        START(&second);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        waits(&flush);
        for (size_t n = 0; n < sizeof got;) {
            ssize_t more = fin_tls_read(p.client, got + n, sizeof got - n);
            CHECK(more > 0);
            n += (size_t)more;
        }
    }
    CHECK_EQ(flush.result, 0);
    CHECK_EQ(second.result, 6);
    CHECK_EQ(memcmp(got, data, sizeof data), 0);
    CHECK_EQ(memcmp(got + sizeof data, "second", 6), 0);
    CHECK_EQ(result_of(&flush), 0);
    CHECK_EQ(result_of(&last), 0);
    pair_close(&p);
}

static void says_the_end(void) {
    static struct call end, write;
    char c;
    opened();
    end = (struct call){.t = p.server, .begin = ends};
    write = (struct call){.t = p.server, .begin = writes, .data = "x", .size = 1};
    fin_finish {
        fin_cancel();
        START(&end);
        START(&write);
    }
    CHECK_EQ(end.result, -ECANCELED);
    CHECK_EQ(write.result, -ECANCELED);
    CHECK_EQ(result_of(&write), 1);
    CHECK_EQ(result_of(&end), 0);
    CHECK_EQ(result_of(&end), 0);
    CHECK_EQ(result_of(&write), -EPIPE);
    CHECK_EQ(fin_tls_read(p.client, &c, 1), 1);
    CHECK_EQ(fin_tls_read(p.client, &c, 1), 0);
    pair_close(&p);
    opened(); // a socket that is full
    end.t = p.server;
    fill(p.fd[1]);
    fin_finish {
        START(&end);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        waits(&end);
        CHECK_EQ(stacks(), 1);
        fin_cancel();
    }
    CHECK_EQ(end.result, -ECANCELED);
    pair_close(&p);
}

static void errors(void) {
    static struct call end, write, flush;
    pair_open(&p, true, 0);
    end = (struct call){.t = p.server, .begin = ends};
    write = (struct call){.t = p.server, .begin = writes, .data = "x", .size = 1};
    flush = (struct call){.t = p.server, .begin = flushes};
    CHECK_EQ(result_of(&end), -ENOTCONN);
    CHECK_EQ(result_of(&write), -ENOTCONN);
    CHECK_EQ(result_of(&flush), 0);
    pair_connect(&p);
    close(p.fd[0]);
    p.fd[0] = -1;
    CHECK_EQ(result_of(&write), -EPIPE);
    CHECK_EQ(result_of(&flush), -EPIPE); // it is there still
    CHECK_EQ(result_of(&end), -EPIPE);
    pair_close(&p);
}

static void never(void *state, int result) {
    (void)state, (void)result;
    CHECK(false);
}

static int refused_with(int which, struct call *c, fin_cont *cont, const void *state, size_t size) {
    switch (which) {
    case 0: return fin_tls_connect_on(p.client, "localhost", &c->on, cont, state, size);
    case 1: return fin_tls_accept_on(p.server, &c->on, cont, state, size);
    case 2: return fin_tls_write_on(p.server, "x", 1, &c->on, cont, state, size);
    case 3: return fin_tls_flush_on(p.server, &c->on, cont, state, size);
    default: return fin_tls_shutdown_on(p.server, &c->on, cont, state, size);
    }
}

static void misuses(void *state, int unused) {
    static struct call c;
    char much[FIN_CONT_STATE + 1] = "";
    struct fin_mutex m = FIN_MUTEX_INIT;
    (void)state, (void)unused;
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(refused_with(i, &c, NULL, NULL, 0), -EINVAL);
        CHECK_EQ(refused_with(i, &c, never, much, sizeof much), -E2BIG);
        CHECK_EQ(fin_mutex_lock(&m), 0);
        CHECK_EQ(refused_with(i, &c, never, NULL, 0), -EBUSY);
        fin_mutex_unlock(&m);
        fin_finish {
            CHECK_EQ(refused_with(i, &c, never, NULL, 0), -EBUSY);
        }
    }
    fin_cont_end();
}

static void refused(void) {
    static struct call c;
    char byte;
    pair_open(&p, true, 0);
    for (int i = 0; i < 5; i++)
        CHECK_EQ(refused_with(i, &c, never, NULL, 0), -EINVAL); // outside any async
    for (int connected = 0; connected < 2; connected++) {
        fin_finish {
            CHECK(fin_async_cont(misuses, NULL, 0) != NULL);
        }
        if (!connected)
            pair_connect(&p);
    }
    CHECK_EQ(fin_tls_write(p.server, "y", 1), 1); // it has not ended, and nothing was written before
    CHECK_EQ(fin_tls_read(p.client, &byte, 1), 1);
    CHECK_EQ(byte, 'y');
    pair_close(&p);
}

int main(void) {
    handshakes_of_silent();
    handshake_goes_on();
    handshake_refused();
    writes_late();
    says_the_end();
    errors();
    refused();
    return 0;
}
