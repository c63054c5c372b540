// SPDX-License-Identifier: BSD-2-Clause
// How the sides of rpc_everything.c take requests, and work on them.
#ifndef FIN_TESTS_CHAN_RPC_EVERYTHING_SERVE_H
#define FIN_TESTS_CHAN_RPC_EVERYTHING_SERVE_H

#include <fin/thc.h>

#include "rpc_everything.h"

struct later {
    struct side *side;
    uint32_t id;
    struct request q;
    struct fin_on on;
};

static void answer_later(void *later) {
    struct later *l = later;
    struct side *s = l->side;
    fin_sleep_nc(chance(s, 50000));
    answer(s, l->id, &l->q);
    s->in_work--;
    free(l);
}

static void slept(void *state, int result) {
    struct later *l = *(struct later **)state;
    HOLDS(l->side, result == 0 || result == -ECANCELED);
    answer(l->side, l->id, &l->q);
    l->side->in_work--;
    free(l);
    fin_cont_end();
}

static void sleeps(void *state, int result) {
    struct later *l = *(struct later **)state;
    (void)result;
    fin_sleep_on(&l->on, chance(l->side, 50000), slept, &l, sizeof l);
}

static struct later *later_of(struct side *s, uint32_t id, const struct request *q) {
    struct later *l = malloc(sizeof *l);
    *l = (struct later){.side = s, .id = id, .q = *q};
    return l;
}

struct elsewhere {
    struct side *side;
    uint32_t id;
    const struct request *q;
    int result;
};

static void answer_elsewhere(void *arg) {
    struct elsewhere *e = arg;
    unsigned char out[LARGEST];
    e->result = fin_rpc_reply_nc(e->side->rpc, e->id, out, make_answer(out, e->q));
}

// A call that is not given up, so that whoever was asked has nothing to do any more when this one has answered.
static void call_back(struct side *s, unsigned depth) {
    struct ask *k = malloc(sizeof *k);
    make_ask(k, s, chance(s, 2) ? NESTED : PLAIN, depth);
    k->room = sizeof k->answer;
    k->nc = !s->thread->may_die;
    ssize_t n = k->nc ? fin_rpc_send_nc(s->rpc, &k->q, k->q.size, &k->id) : fin_rpc_send(s->rpc, &k->q, k->q.size, &k->id);
    if (n == 0) {
        n = fin_rpc_recv(s->rpc, k->id, k->answer, k->room);
        if (n == -ECANCELED && k->nc)
            n = fin_rpc_recv_nc(s->rpc, k->id, k->answer, k->room);
    }
    told(k, n, false);
    free(k);
}

static void answer_done(struct side *s, uint32_t id, const struct request *q) {
    if (q->how == FLUSH)
        flush(s);
    if (q->how == DONE)
        s->peer_done = true;
    answer(s, id, q);
}

// When all others have answered: how many answers there were.
static void answer_final(struct side *s, uint32_t id) {
    while (s->in_work > 1)
        fin_sleep_nc(20 * FIN_US);
    uint64_t n = __atomic_load_n(&s->answers, __ATOMIC_RELAXED) + 1;
    s->final_told = true;
    send_answer(s, id, &n, sizeof n);
}

static void hoard(struct side *s, uint32_t id, const struct request *q) {
    HOLDS(s, s->hoarded < HOARD_MOST);
    s->hoard[s->hoarded++] = (struct hoarded){id, *q};
}

static void twice(struct side *s, uint32_t id, const struct request *q) {
    answer(s, id, q);
    answer(s, id, q);
}

static void elsewhere(struct side *s, uint32_t id, const struct request *q) {
    struct elsewhere e = {s, id, q, 0};
    int r = s->shared && !s->thread->may_die ? fin_offload_nc(answer_elsewhere, &e) : -1;
    if (r == 0)
        count_answer(s, e.result);
    else
        answer(s, id, q);
}

static void start_later(struct side *s, uint32_t id, const struct request *q);

// `ends`: its AWE may.
static void work(struct side *s, uint32_t id, const struct request *q, bool may_end) {
    s->in_work++;
    switch ((enum how)q->how) {
    case FLUSH:
    case DONE:
        answer_done(s, id, q);
        break;
    case FINAL:
        answer_final(s, id);
        break;
    case HOARD:
        hoard(s, id, q);
        break;
    case LATER:
        start_later(s, id, q);
        return;
    case TWICE:
        twice(s, id, q);
        break;
    case STALE:
        answer_nobody(s, id);
        answer(s, id, q);
        break;
    case ELSEWHERE:
        elsewhere(s, id, q);
        break;
    case YIELDS:
        fin_yield();
        answer(s, id, q);
        break;
    case SLEEPS:
        pause_here(s);
        answer(s, id, q);
        break;
    case NESTED:
        if (q->depth && s->calls)
            call_back(s, q->depth - 1);
        answer(s, id, q);
        break;
    default:
        answer(s, id, q);
    }
    s->in_work--;
    if (q->how == ENDS && may_end)
        THCFinish();
}

static void check_request(struct side *s, uint32_t id, const void *request, size_t n, struct request *q) {
    HOLDS(s, n >= sizeof *q && id != 0);
    memcpy(q, request, sizeof *q);
    EQUALS(s, n, q->size);
    HOLDS(s, memcmp((const char *)request + sizeof *q, bytes_of(q->x), n - sizeof *q) == 0);
}

static void handle(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *side) {
    struct side *s = side;
    struct request q;
    HOLDS(s, s->rpc == r);
    check_request(s, id, request, size, &q);
    work(s, id, &q, true);
}

// What has not begun before a cancel stays in the channel.
static void handle_at_once(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *side) {
    HOLDS((struct side *)side, !fin_cancelled());
    handle(r, id, request, size, side);
}

static void start_later(struct side *s, uint32_t id, const struct request *q) {
    struct later *l = later_of(s, id, q);
    if (fin_async_cont_beside(sleeps, &l, sizeof l))
        return;
    answer_later(l);
}

// ---- forms of serving. Each goes on until it is cancelled, or told of the end.

// A form whose wait ended so is over.
static bool goes_on(struct side *s, ssize_t n) {
    if (n >= 0)
        return true;
    if (n == -ECANCELED)
        HOLDS(s, fin_cancelled());
    else
        ends(s, n);
    return false;
}

static void serve(void *side) {
    struct side *s = side;
    goes_on(s, fin_rpc_serve(s->rpc, handle_at_once, s));
}

struct serving {
    struct side *side;
    struct fin_rpc_on on;
    uint32_t id;
    ssize_t n;
    unsigned char request[LARGEST];
};

static struct serving *new_serving(struct side *s) {
    struct serving *v = malloc(sizeof *v);
    v->side = s;
    return v;
}

static void served(void *state, int n) {
    struct serving *v = *(struct serving **)state;
    HOLDS(v->side, n < 0);
    goes_on(v->side, n);
    free(v);
    fin_cont_end();
}

static void serve_on(void *side) {
    struct side *s = side;
    struct serving *v = new_serving(s);
    fin_rpc_serve_on(s->rpc, handle, s, &v->on, served, &v, sizeof v);
    HOLDS(s, false);
}

static void work_on(void *serving) {
    struct serving *v = serving;
    struct request q;
    check_request(v->side, v->id, v->request, (size_t)v->n, &q);
    work(v->side, v->id, &q, false);
    free(v);
}

// Each request in an async, as the base of a side never waits for one.
static void accept_all(void *side) {
    struct side *s = side;
    struct serving *v;
    fin_finish {
        for (;;) {
            v = new_serving(s);
            v->n = fin_rpc_accept(s->rpc, v->request, sizeof v->request, &v->id);
            if (!goes_on(s, v->n))
                break;
            fin_async_call(work_on, v);
        }
        free(v);
    }
}

static void accepted(void *state, int n);
static void accept_next(struct side *s) {
    struct serving *v = new_serving(s);
    fin_rpc_accept_on(s->rpc, v->request, sizeof v->request, &v->id, &v->on, accepted, &v, sizeof v);
    HOLDS(s, false);
}

static void works_beside(void *state, int result) {
    struct serving *v = *(struct serving **)state;
    (void)result;
    fin_finish {
        work_on(v);
    }
    fin_cont_end();
}

static void accepted(void *state, int n) {
    struct serving *v = *(struct serving **)state;
    struct side *s = v->side;
    v->n = n;
    if (!goes_on(s, n)) {
        free(v);
        fin_cont_end();
    }
    CHECK(fin_async_cont_beside(works_beside, &v, sizeof v));
    accept_next(s);
}

static void accept_all_on(void *side) { accept_next(side); }

static void poll_all(void *side) {
    struct side *s = side;
    struct serving *v;
    fin_finish {
        for (;;) {
            v = new_serving(s);
            v->n = fin_rpc_poll(s->rpc, v->request, sizeof v->request, &v->id);
            if (v->n >= 0) {
                fin_async_call(work_on, v);
                continue;
            }
            ssize_t n = v->n == -EAGAIN ? fin_sleep(20 * FIN_US) : v->n;
            free(v);
            if (!goes_on(s, n))
                break;
        }
    }
}

// ---- more of them, which come and go, and work on one request at a time

static void accept_some(void *side) {
    struct side *s = side;
    struct serving *v = new_serving(s);
    size_t room = chance(s, 4) ? sizeof v->request : 30;
    for (;;) {
        v->n = fin_rpc_accept(s->rpc, v->request, room, &v->id);
        if (v->n == -EMSGSIZE && !s->over && !s->broken) {
            room = chance(s, 2) ? sizeof v->request : 30;
            fin_yield();
            continue;
        }
        if (v->n == -EMSGSIZE || !goes_on(s, v->n))
            break;
        struct request q;
        check_request(s, v->id, v->request, (size_t)v->n, &q);
        work(s, v->id, &q, false);
    }
    free(v);
}

static void reply_accept_some(void *side) {
    struct side *s = side;
    struct serving *v = new_serving(s);
    unsigned char out[LARGEST];
    v->n = fin_rpc_accept(s->rpc, v->request, sizeof v->request, &v->id);
    while (goes_on(s, v->n)) {
        struct request q;
        check_request(s, v->id, v->request, (size_t)v->n, &q);
        if (q.how >= FLUSH || q.how == NESTED || q.how == HOARD) {
            work(s, v->id, &q, false);
            v->n = fin_rpc_accept(s->rpc, v->request, sizeof v->request, &v->id);
            continue;
        }
        uint32_t id = v->id;
        size_t size = make_answer(out, &q);
        count_answer(s, 0); // while it waits for the next one it is counted already
        v->n = fin_rpc_reply_accept(s->rpc, out, size, v->request, sizeof v->request, &v->id);
        if (v->n < 0 && v->id != 0) {
            __atomic_fetch_sub(&s->answers, 1, __ATOMIC_RELAXED);
            HOLDS(s, v->id == id);
            if (v->n == -ECANCELED)
                answer(s, id, &q);
        }
    }
    free(v);
}

static void (*const forms[])(void *) = {serve,    serve_on,    accept_all,       accept_all_on,
                                        poll_all, accept_some, reply_accept_some};

static void one_form(void *side) {
    struct side *s = side;
    forms[chance(s, sizeof forms / sizeof *forms)](s);
}

static void come_and_go(void *side) {
    struct side *s = side;
    while (!s->over && !s->broken && !fin_cancelled()) {
        fin_timeout(chance(s, 400) * FIN_US) {
            fin_async_call(one_form, s);
            if (chance(s, 3) == 0) {
                pause_here(s);
                fin_cancel();
            }
        }
        pause_here(s);
    }
}

// ---- one AWE for several sides

struct group {
    struct thread *thread;
    struct side *sides[4];
    unsigned count;
};

static void leave_group(struct group *g, unsigned i) {
    g->sides[i]->in_group = false;
    g->sides[i] = g->sides[--g->count];
}

// No request: not now, or none any more.
static void free_after(struct group *g, struct serving *v, unsigned which) {
    if (v->n != -EAGAIN) {
        ends(g->sides[which], v->n);
        leave_group(g, which);
    } else {
        fin_sleep_nc(20 * FIN_US);
    }
    free(v);
}

static void poll_group(void *group) {
    struct group *g = group;
    unsigned which = 0;
    fin_finish {
        while (g->count) {
            struct fin_rpc *members[4];
            unsigned count = g->count;
            for (unsigned i = 0; i < count; i++)
                members[i] = g->sides[i]->rpc;
            struct serving *v = new_serving(NULL);
            v->n = fin_rpc_poll_group(members, count, &which, v->request, sizeof v->request, &v->id);
            if (v->n >= 0) {
                v->side = g->sides[which];
                fin_async_call(work_on, v);
            } else {
                free_after(g, v, which);
            }
            for (unsigned i = 0; i < g->count; i++)
                if (g->sides[i]->over)
                    leave_group(g, i--);
        }
    }
}

#endif
