// SPDX-License-Identifier: BSD-2-Clause
// A server that replies and waits for the next request at once, over each kind of channel. An error tells by the id whether
// the answer has been sent: too long a one and one of a cancelled server can be sent again. One call after the other, many
// at a time, of callers with stacks and without; answers to nobody; a request that is given before a cancel counts.
#include "rpc.h"

enum { LONG = 300, ROUNDS = 60, CALLERS = 4 };

static ssize_t last;
static uint32_t last_id;

// Each answer is as long as its request, and in the same memory.
static void serves(void *unused) {
    unsigned char p[LONG];
    uint32_t id;
    (void)unused;
    ssize_t n = fin_rpc_accept(server, p, sizeof p, &id);
    while (n >= 0) {
        CHECK(filled(p, (size_t)n, (unsigned)n));
        fill(p, (size_t)n, (unsigned)n + 1);
        n = fin_rpc_reply_accept(server, p, (size_t)n, p, sizeof p, &id);
    }
    last = n;
    last_id = id;
}

static void calls(void *sizes) {
    unsigned char p[LONG], q[LONG];
    unsigned seed = (unsigned)(uintptr_t)sizes;
    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t size = seed == 0 ? i * 5 : next_random(&seed) % (LONG + 1);
        fill(p, size, (unsigned)size);
        CHECK_EQ(fin_rpc_call(caller, p, size, q, sizeof q), size);
        CHECK(filled(q, size, (unsigned)size + 1));
    }
}

struct client {
    struct fin_rpc_on on;
    unsigned char p[8], q[8];
    int left;
};

static void called(void *state, int n) {
    struct client *c = *(struct client **)state;
    CHECK_EQ(n, sizeof c->q);
    CHECK(filled(c->q, sizeof c->q, sizeof c->q + 1));
    if (c->left-- == 0)
        fin_cont_end();
    fin_rpc_call_on(caller, c->p, sizeof c->p, c->q, sizeof c->q, &c->on, called, &c, sizeof c);
}

static void begins(void *state, int unused) {
    struct client *c = *(struct client **)state;
    (void)unused;
    fill(c->p, sizeof c->p, sizeof c->p);
    fill(c->q, sizeof c->q, sizeof c->q + 1);
    called(state, sizeof c->q);
}

static void every_call(enum kind kind) {
    struct client without = {.left = ROUNDS}, *c = &without;
    open_rpc(kind);
    fin_finish {
        fin_async_call(serves, NULL);
        calls(NULL);
        fin_finish {
            for (uintptr_t i = 1; i <= CALLERS; i++)
                fin_async_call(calls, (void *)i);
            CHECK(fin_async_cont(begins, &c, sizeof c) != NULL);
        }
        CHECK_EQ(fin_rpc_close(caller), 0);
    }
    CHECK_EQ(last, -ESHUTDOWN);
    CHECK_EQ(last_id, 0);
    CHECK_EQ(fin_rpc_close(server), 0);
}

static void asks(void *x) { CHECK_EQ(ask((uint64_t)(uintptr_t)x), 8); }

// What goes wrong with the reply leaves the id, and the caller waits on; what goes wrong later is of the next request.
static void errors(enum kind kind) {
    static unsigned char large[8192], p[40];
    uint64_t x, y;
    uint32_t id, sent;
    open_rpc(kind);
    fin_finish {
        fin_async_call(asks, (void *)3);
        id = sent = next_request(&x);
        CHECK_EQ(fin_rpc_reply_accept(server, large, sizeof large, &y, sizeof y, &id), -EMSGSIZE);
        CHECK_EQ(id, sent);
        fin_finish {
            fin_cancel();
            y = answer_to(x);
            CHECK_EQ(fin_rpc_reply_accept(server, &y, sizeof y, &y, sizeof y, &id), -ECANCELED);
            CHECK_EQ(id, sent);
        }
        fin_async {
            uint32_t unused;
            fin_yield();
            CHECK_EQ(fin_rpc_send(caller, large, sizeof p, &unused), 0);
            CHECK_EQ(fin_rpc_forget(caller, unused), 0);
        };
        CHECK_EQ(fin_rpc_reply_accept(server, &y, sizeof y, &y, sizeof y, &id), -EMSGSIZE);
        CHECK_EQ(id, 0);
    }
    CHECK_EQ(fin_rpc_accept(server, p, sizeof p, &id), sizeof p);
    CHECK_EQ(fin_rpc_reply(server, id, p, 0), 0);
    CHECK_EQ(fin_rpc_close(caller), 0);
    id = sent;
    ssize_t n = fin_rpc_reply_accept(server, &y, sizeof y, &y, sizeof y, &id);
    CHECK(n == -ESHUTDOWN || (n == -EPIPE && id == sent));
    CHECK_EQ(fin_rpc_close(server), 0);
}

// To no call: it is counted, and the wait goes on.
static void to_nobody(enum kind kind) {
    uint64_t x, y = 1;
    uint32_t id = 0;
    open_rpc(kind);
    fin_finish {
        fin_async_call(asks, (void *)4);
        CHECK_EQ(fin_rpc_reply_accept(server, &y, sizeof y, &x, sizeof x, &id), sizeof x);
        uint32_t right = id;
        id ^= 1;
        fin_async {
            fin_yield();
            reply_to(right, 4);
            CHECK_EQ(ask(5), 8);
        };
        CHECK_EQ(fin_rpc_reply_accept(server, &y, sizeof y, &x, sizeof x, &id), sizeof x);
        reply_to(id, x);
    }
    CHECK_EQ(fin_rpc_strays(caller), 2);
    close_rpc();
}

// Cancelled while it waits, before a request comes or just after one was given.
static void cancelled(enum kind kind, bool given) {
    fin_shared uint64_t x = 6;
    fin_shared uint32_t id = 0;
    fin_shared ssize_t n = 0;
    uint32_t sent, of_none;
    open_rpc(kind);
    CHECK_EQ(fin_rpc_send(caller, &(uint64_t){1}, 8, &of_none), 0);
    id = next_request((uint64_t *)&x);
    fin_finish_as(all) {
        fin_async { n = fin_rpc_reply_accept(server, &(uint64_t){answer_to(1)}, 8, (void *)&x, sizeof x, (uint32_t *)&id); };
        CHECK_EQ(id, 0);
        if (given)
            CHECK_EQ(fin_rpc_send(caller, &(uint64_t){7}, 8, &sent), 0);
        fin_cancel_as(all);
    }
    CHECK_EQ(fin_rpc_recv(caller, of_none, (void *)&x, sizeof x), 8); // the reply has gone all the same
    CHECK_EQ(x, answer_to(1));
    if (n == -ECANCELED && given && kind != LOCAL) // what goes through the ring is taken by the next
        id = next_request((uint64_t *)&x), n = 8;
    CHECK_EQ(n, given ? 8 : -ECANCELED);
    CHECK(given ? id == sent : id == 0);
    close_rpc();
}

// One that is not cancelled goes on in a block that is.
static void not_cancelled(enum kind kind) {
    uint64_t x, y;
    open_rpc(kind);
    fin_finish {
        fin_async {
            CHECK_EQ(ask(1), 8);
            CHECK_EQ(ask(2), 8);
        };
        uint32_t id = next_request(&x);
        fin_finish {
            fin_cancel();
            y = answer_to(x);
            CHECK_EQ(fin_rpc_reply_accept_nc(server, &y, sizeof y, &x, sizeof x, &id), sizeof x);
        }
        CHECK_EQ(x, 2);
        reply_to(id, x);
    }
    close_rpc();
}

static void serves_aloud(void *unused) {
    uint64_t x;
    uint32_t id;
    (void)unused;
    ssize_t n = fin_rpc_accept(server, &x, sizeof x, &id);
    while (n >= 0) {
        LOG("work ");
        x = answer_to(x);
        n = fin_rpc_reply_accept(server, &x, sizeof x, &x, sizeof x, &id);
    }
}

// (Where a sanitizer follows each switch the processor is not handed over.)
static void at_once(void) {
    open_rpc(LOCAL);
    fin_finish_as(all) {
        fin_async_call(serves_aloud, NULL);
        fin_yield();
        fin_finish {
            CHECK_EQ(ask(1), 8); // the first wait of a block has more to do
            check_log[0] = 0;
            fin_async {
                fin_yield();
                LOG("other ");
            };
            CHECK_EQ(ask(2), 8);
            LOG("answer ");
        }
#if !FIN_SANITIZED
        CHECK_LOG("work answer other ");
#endif
        fin_cancel_as(all);
    }
    close_rpc();
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        every_call(kind);
        errors(kind);
        to_nobody(kind);
        cancelled(kind, false);
        cancelled(kind, true);
        not_cancelled(kind);
    }
    at_once();
    return 0;
}
