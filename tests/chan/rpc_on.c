// SPDX-License-Identifier: BSD-2-Clause
// Calls without stacks to servers without stacks, and to and from AWEs that have them, at one end of each kind of channel:
// every answer is its call's. A slow request delays none behind it; the loop ends when the other side closes, after its
// handlers. Within a thread all waits are recognized.
#include "rpc.h"

enum { CLIENTS = 5, ROUNDS = 40, LONG = 150 };

struct client {
    struct fin_rpc_on on;
    uint64_t x, y, left;
};

static struct client clients[CLIENTS];
static struct fin_rpc_on serving;
static unsigned ended, seed = 5;
static struct fin_event go = FIN_EVENT_INIT;
static bool slow_waits, cancelling;

// ---- clients

static void call(void *state, int n) {
    struct client *c = *(struct client **)state;
    CHECK_EQ(n, sizeof c->y);
    CHECK_EQ(c->y, answer_to(c->x));
    if (c->left-- == 0)
        fin_cont_end();
    c->x = next_random(&seed);
    fin_rpc_call_on(caller, &c->x, sizeof c->x, &c->y, sizeof c->y, &c->on, call, &c, sizeof c);
}

static void begin_to_call(void *state, int result) {
    struct client *c = *(struct client **)state;
    CHECK_EQ(result, 0);
    c->left = few(ROUNDS);
    c->y = answer_to(c->x);
    call(state, sizeof c->y);
}

// From a body that has a stack until then.
static void call_from_stack(void *client) { begin_to_call(&client, 0); }

static void calls_with_stack(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < few(ROUNDS); i++)
        CHECK_EQ(ask(next_random(&seed)), 8);
}

static void all_call(void) {
    fin_finish {
        for (int i = 0; i < CLIENTS; i++) {
            struct client *c = &clients[i];
            if (i % 2)
                fin_async_call(call_from_stack, c);
            else
                fin_async_cont(begin_to_call, &c, sizeof c);
        }
        fin_async_call(calls_with_stack, NULL);
    }
}

// ---- servers: a loop of requests that are taken

struct acceptor {
    struct fin_rpc_on on;
    uint64_t x;
    uint32_t id;
};

static struct acceptor acceptors[2];

static void requested(void *state, int n) {
    struct acceptor *s = *(struct acceptor **)state;
    if (n == -ESHUTDOWN || n == -ECANCELED) {
        ended++;
        fin_cont_end();
    }
    CHECK_EQ(n, sizeof s->x);
    reply_to(s->id, s->x);
    fin_rpc_accept_on(server, &s->x, sizeof s->x, &s->id, &s->on, requested, &s, sizeof s);
}

static void begin_to_accept(void *state, int result) {
    struct acceptor *s = *(struct acceptor **)state;
    CHECK_EQ(result, 0);
    fin_rpc_accept_on(server, &s->x, sizeof s->x, &s->id, &s->on, requested, &s, sizeof s);
}

// ---- the dispatch loop; what has to wait for long does so beside it, without a stack

struct later {
    struct fin_sync_on on;
    uint64_t x;
    uint32_t id;
};

static void goes_on(void *state, int result) {
    struct later *l = *(struct later **)state;
    CHECK_EQ(result, 0);
    reply_to(l->id, l->x);
    free(l);
    fin_cont_end();
}

static void waits_beside(void *state, int result) {
    struct later *l = *(struct later **)state;
    CHECK_EQ(result, 0);
    fin_event_await_on(&go, 1, &l->on, goes_on, &l, sizeof l);
}

static void reply_later(uint32_t id, uint64_t x) {
    struct later *l = malloc(sizeof *l);
    CHECK(l);
    l->x = x;
    l->id = id;
    CHECK(fin_async_cont_beside(waits_beside, &l, sizeof l));
}

static void handle(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *arg) {
    uint64_t x[LONG];
    CHECK(size == 8 || size == sizeof x);
    CHECK(arg == &serving);
    memcpy(x, request, size);
    CHECK_EQ(fin_block_on(requested, NULL, 0), -EBUSY);
    if (x[0] == 3000) {
        reply_later(id, x[0]);
        return;
    }
    if (x[0] == 1000) {
        slow_waits = true;
        int r = fin_event_await(&go, 1);
        slow_waits = false;
        if (cancelling) {
            CHECK_EQ(r, -ECANCELED);
            return;
        }
        CHECK_EQ(r, 0);
    } else if (x[0] % 7 == 0) {
        fin_yield();
    }
    x[0] = answer_to(x[0]);
    CHECK_EQ(fin_rpc_reply(r, id, x, size), caller ? 0 : -EPIPE);
}

static void served(void *state, int result) {
    CHECK_EQ(result, *(int *)state);
    CHECK(!slow_waits);
    ended++;
    fin_cont_end();
}

static void begin_to_serve(void *state, int result) {
    CHECK_EQ(result, 0);
    fin_rpc_serve_on(server, handle, &serving, &serving, served, state, sizeof(int));
}

static void slow_and_quick(void) {
    fin_event_init(&go);
    fin_finish {
        fin_async { CHECK_EQ(ask(1000), 8); };
        fin_async {
            uint64_t x[LONG] = {1000, 2, 3}, y[LONG];
            CHECK_EQ(fin_rpc_call(caller, x, sizeof x, y, sizeof y), sizeof y);
            CHECK(y[0] == answer_to(1000) && y[1] == 2 && y[2] == 3);
        };
        fin_async { CHECK_EQ(ask(3000), 8); };
        for (unsigned i = 0; i < 20; i++)
            CHECK_EQ(ask(2000 + i), 8);
        CHECK(slow_waits);
        fin_event_advance(&go, 1);
    }
}

static void loop(enum kind kind, bool cancelled) {
    int why = cancelled ? -ECANCELED : -ESHUTDOWN;
    ended = 0;
    open_rpc(kind);
    fin_finish_as(all) {
        struct fin_awe *waits = fin_async_cont(begin_to_serve, &why, sizeof why);
        fin_yield();
        CHECK(fin_cont_of(waits) == served); // not the library's own, nor its state
        CHECK_EQ(*(int *)fin_cont_state(waits), why);
        all_call();
        slow_and_quick();
        CHECK_EQ(fin_rpc_close(server), -EBUSY);
        CHECK_EQ(ended, 0);
        fin_event_init(&go);
        uint64_t x = 1000;
        uint32_t id;
        CHECK_EQ(fin_rpc_send(caller, &x, sizeof x, &id), 0);
        cancelling = cancelled;
        if (cancelled) {
            fin_cancel_as(all); // it may have been taken: then its handler hears of it
        } else {
            CHECK_EQ(fin_rpc_close(caller), 0); // its handler has not begun yet
            caller = NULL;
            fin_event_advance(&go, 1);
        }
    }
    CHECK_EQ(ended, 1);
    cancelling = false;
    if (cancelled)
        CHECK_EQ(fin_rpc_close(caller), 0);
    CHECK_EQ(fin_rpc_close(server), 0);
}

static void accepts(enum kind kind, int servers) {
    ended = 0;
    open_rpc(kind);
    fin_finish_as(all) {
        for (int i = 0; i < servers; i++) {
            struct acceptor *s = &acceptors[i];
            fin_async_cont(begin_to_accept, &s, sizeof s);
        }
        all_call();
        CHECK_EQ(ended, 0);
        fin_cancel_as(all);
    }
    CHECK_EQ(ended, servers);
    close_rpc();
}

static void recognized(void) {
    struct fin_stats t;
    struct client *c = &clients[0];
    struct acceptor *s = &acceptors[0];
    open_rpc(LOCAL);
    fin_finish_as(all) {
        fin_async_cont(begin_to_accept, &s, sizeof s);
        fin_yield();
        fin_stats_clear();
        fin_finish {
            fin_async_cont(begin_to_call, &c, sizeof c);
        }
        fin_stats(&t);
        const struct fin_blocks *m = &t.blocks[FIN_FOR_MESSAGE];
        CHECK_EQ(m->with_stack, 0);
        CHECK_EQ(m->recognized, 2 * few(ROUNDS));
        CHECK_EQ(m->with_continuation, 2 * few(ROUNDS));
        fin_cancel_as(all);
    }
    close_rpc();
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        accepts(kind, 1);
        accepts(kind, 2);
        loop(kind, false);
        loop(kind, true);
    }
    recognized();
    return 0;
}
