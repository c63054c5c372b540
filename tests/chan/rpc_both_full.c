// SPDX-License-Identifier: BSD-2-Clause
// Two ends that call each other, and each replies to one request at a time, while the rings of both are full of requests:
// each waits for room for an answer, and in the way are requests that only it can take. Both go on; requests are served in
// their order, and none twice. Callers with and without stacks, one that sends many before it receives an answer, servers
// with and without stacks, and the two ends in one thread and in two.
#include <fin/rpc_on.h>

#include "rpc.h"

enum { MANY = 300, MOST = 1000 };

struct server {
    uint64_t request[MOST / 8], answer[MOST / 8];
    uint64_t served;
    bool seen[MANY];
    uint32_t id;
    struct fin_rpc_on on;
};

struct call {
    struct side *side;
    uint64_t request[MOST / 8], answer[MOST / 8];
    struct fin_rpc_on on;
};

struct side {
    struct fin_rpc *rpc;
    struct server server;
    struct call calls[MANY];
    uint64_t sent;
    bool done;
};

static struct side sides[2];
static size_t asked, answered; // bytes
static void (*how_to_serve)(struct side *), (*how_to_call)(struct side *);

static void sends_all(struct side *s);

// ---- servers

// Requests have their numbers. Callers overtake one another.
static void serve(struct side *s, ssize_t n) {
    struct server *v = &s->server;
    CHECK_EQ(n, asked);
    if (how_to_call == sends_all)
        CHECK_EQ(v->request[0], v->served);
    CHECK(!v->seen[v->request[0]]);
    v->seen[v->request[0]] = true;
    v->served++;
    v->answer[0] = answer_to(v->request[0]);
}

static void serves(struct side *s) {
    struct server *v = &s->server;
    ssize_t n = fin_rpc_accept(s->rpc, v->request, sizeof v->request, &v->id);
    while (n >= 0) {
        serve(s, n);
        n = fin_rpc_reply_accept(s->rpc, v->answer, answered, v->request, sizeof v->request, &v->id);
    }
    CHECK_EQ(n, -ECANCELED);
}

static void has_request(void *state, int n) {
    struct side *s = *(struct side **)state;
    struct server *v = &s->server;
    if (n >= 0) {
        serve(s, n);
        n = fin_rpc_reply(s->rpc, v->id, v->answer, answered);
        if (n == 0)
            fin_rpc_accept_on(s->rpc, v->request, sizeof v->request, &v->id, &v->on, has_request, &s, sizeof s);
    }
    CHECK_EQ(n, -ECANCELED);
    fin_cont_end();
}

static void serves_without_stack(struct side *s) {
    struct server *v = &s->server;
    fin_rpc_accept_on(s->rpc, v->request, sizeof v->request, &v->id, &v->on, has_request, &s, sizeof s);
}

// ---- callers

static void number(struct call *c) { c->request[0] = c->side->sent++; }

static void has_answer(struct call *c, ssize_t n) {
    CHECK_EQ(n, answered);
    CHECK_EQ(c->answer[0], answer_to(c->request[0]));
}

static void sends_all(struct side *s) {
    static __thread uint32_t ids[2][MANY];
    uint32_t *id = ids[s - sides];
    for (int i = 0; i < MANY; i++) {
        number(&s->calls[i]);
        CHECK_EQ(fin_rpc_send(s->rpc, s->calls[i].request, asked, &id[i]), 0);
    }
    for (int i = 0; i < MANY; i++)
        has_answer(&s->calls[i], fin_rpc_recv(s->rpc, id[i], s->calls[i].answer, sizeof s->calls[i].answer));
}

static void calls(void *call) {
    struct call *c = call;
    number(c);
    has_answer(c, fin_rpc_call(c->side->rpc, c->request, asked, c->answer, sizeof c->answer));
}

static void call_ends(void *call, int n) {
    has_answer(*(struct call **)call, n);
    fin_cont_end();
}

static void calls_without_stack(void *call) {
    struct call *c = call;
    number(c);
    fin_rpc_call_on(c->side->rpc, c->request, asked, c->answer, sizeof c->answer, &c->on, call_ends, &c, sizeof c);
}

static void each(struct side *s, void (*call)(void *)) {
    fin_finish {
        for (int i = 0; i < MANY; i++)
            fin_async_call(call, &s->calls[i]);
    }
}
static void all_call(struct side *s) { each(s, calls); }
static void all_call_without_stack(struct side *s) { each(s, calls_without_stack); }

// ---- the two

static void serves_here(void *side) { how_to_serve(side); }

// Until both have all answers.
static void lives(void *side) {
    struct side *s = side, *other = &sides[s == sides];
    fin_finish_as(all) {
        fin_async_call(serves_here, s);
        how_to_call(s);
        __atomic_store_n(&s->done, true, __ATOMIC_RELEASE);
        while (!__atomic_load_n(&other->done, __ATOMIC_ACQUIRE))
            fin_sleep(FIN_MS);
        fin_cancel_as(all);
    }
    CHECK_EQ(s->server.served, MANY);
    CHECK_EQ(fin_rpc_strays(s->rpc), 0);
}

static void scene(enum kind kind, bool beside) {
    struct fin_thread_handle t;
    open_kind(kind, 4096, 0);
    memset(sides, 0, sizeof sides);
    for (int i = 0; i < 2 * MANY; i++)
        sides[i % 2].calls[i / 2].side = &sides[i % 2];
    CHECK_EQ(fin_rpc_open(&sides[0].rpc, a, 0), 0);
    CHECK_EQ(fin_rpc_open(&sides[1].rpc, b, 0), 0);
    if (beside)
        CHECK_EQ(fin_thread_start(&t, lives, &sides[1]), 0);
    fin_finish {
        if (!beside)
            fin_async_call(lives, &sides[1]);
        lives(&sides[0]);
    }
    if (beside)
        fin_thread_join_nc(&t);
    CHECK_EQ(fin_rpc_close(sides[0].rpc), 0);
    CHECK_EQ(fin_rpc_close(sides[1].rpc), 0);
}

int main(void) {
    static void (*const servers[])(struct side *) = {serves, serves_without_stack};
    static void (*const callers[])(struct side *) = {sends_all, all_call, all_call_without_stack};
    static const size_t sizes[][2] = {{8, 8}, {100, 1000}, {1000, 100}, {1000, 1000}};
    alarm(50);
    int step = on_valgrind() ? 5 : 1; // each way and each size, but not with each other
    for (int i = 0; i < 2 * 3 * 4; i += step) {
        how_to_serve = servers[i % 2];
        how_to_call = callers[i / 2 % 3];
        asked = sizes[i / 6][0];
        answered = sizes[i / 6][1];
        for (enum kind kind = 0; kind < KINDS; kind++)
            for (int beside = 0; beside < (kind == LOCAL ? 1 : 2); beside++)
                scene(kind, beside);
    }
    return 0;
}
