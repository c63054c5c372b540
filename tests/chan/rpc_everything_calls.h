// SPDX-License-Identifier: BSD-2-Clause
// How the sides of rpc_everything.c call.
#ifndef FIN_TESTS_CHAN_RPC_EVERYTHING_CALLS_H
#define FIN_TESTS_CHAN_RPC_EVERYTHING_CALLS_H

#include "rpc_everything.h"

// ---- one wait, in the block around it

static void call_now(void *ask) {
    struct ask *k = ask;
    struct fin_rpc *r = k->side->rpc;
    told(k, (k->nc ? fin_rpc_call_nc : fin_rpc_call)(r, &k->q, k->q.size, k->answer, k->room), true);
}

static void has_called(void *state, int n) {
    told(*(struct ask **)state, n, true);
    fin_cont_end();
}

static void call_on(void *ask) {
    struct ask *k = ask;
    k->nc = false;
    fin_rpc_call_on(k->side->rpc, &k->q, k->q.size, k->answer, k->room, &k->on, has_called, &k, sizeof k);
    HOLDS(k->side, false);
}

static void recv_now(void *ask) {
    struct ask *k = ask;
    told(k, (k->nc ? fin_rpc_recv_nc : fin_rpc_recv)(k->side->rpc, k->id, k->answer, k->room), false);
}

static void has_received(void *state, int n) {
    told(*(struct ask **)state, n, false);
    fin_cont_end();
}

static void recv_on(void *ask) {
    struct ask *k = ask;
    k->nc = false;
    fin_rpc_recv_on(k->side->rpc, k->id, k->answer, k->room, &k->on, has_received, &k, sizeof k);
    HOLDS(k->side, false);
}

// `fn` in an async of a block that may be cancelled before, in the middle, by time, or not.
static void in_some_block(struct side *s, void (*fn)(void *), struct ask *k, unsigned way) {
    switch (way) {
    case 0:
        fin_finish {
            fin_async_call(fn, k);
        }
        break;
    case 1:
        fin_timeout(chance(s, 300) * FIN_US) {
            fin_async_call(fn, k);
        }
        break;
    case 2:
        fin_finish {
            fin_async_call(fn, k);
            pause_here(s);
            fin_cancel();
        }
        break;
    case 3:
        fin_finish {
            fin_async_call(fn, k);
            fin_cancel();
        }
        break;
    default:
        k->nc = false;
        fin_finish {
            fin_cancel();
            fin_async_call(fn, k);
        }
        EQUALS(s, k->n, -ECANCELED);
    }
}

// ---- calls

static enum how some_way(struct side *s) { return (enum how)chance(s, HOWS); }

static void call_somehow(struct side *s, struct ask *k) {
    unsigned way = chance(s, 8);
    bool given_up = way >= 1 && way <= 4;
    make_ask(k, s, given_up && chance(s, 4) == 0 ? HOARD : some_way(s), 2);
    if (way >= 5 || (way == 0 && chance(s, 2))) {
        k->nc = chance(s, 3) == 0 && !s->thread->may_die;
        call_now(k);
        return;
    }
    in_some_block(s, chance(s, 2) ? call_on : call_now, k, way);
}

static void send_one(struct side *s, struct ask *k, enum how how) {
    make_ask(k, s, how, 2);
    bool nc = chance(s, 2) && !s->thread->may_die;
    int r = (nc ? fin_rpc_send_nc : fin_rpc_send)(s->rpc, &k->q, k->q.size, &k->id);
    if (r == 0) {
        HOLDS(s, k->id != 0);
        return;
    }
    k->id = 0;
    if (r == -ECANCELED)
        HOLDS(s, fin_cancelled());
    else
        ends(s, r);
}

// Another one waits for it.
static void is_busy(struct side *s, struct ask *k) {
    struct ask *other = malloc(sizeof *other);
    k->room = sizeof k->answer;
    fin_finish {
        fin_async_call(chance(s, 2) ? recv_on : recv_now, k);
        if (state_of(s->rpc, k->id) == CALL_AWAITED) {
            EQUALS(s, fin_rpc_recv_nc(s->rpc, k->id, other->answer, sizeof other->answer), -EBUSY);
            EQUALS(s, fin_rpc_forget(s->rpc, k->id), -EBUSY);
        }
        if (chance(s, 2))
            fin_cancel();
    }
    free(other);
}

// Waits for it until it has come, or is given up: a wait that is cancelled, or for which there is no room, is not the last.
static void recv_somehow(struct side *s, struct ask *k) {
    while (k->id != 0 && !s->broken) {
        if (chance(s, 8) == 0) {
            forget(k);
            return;
        }
        k->nc = false;
        unsigned way = chance(s, 8);
        if (way < 5)
            in_some_block(s, chance(s, 2) ? recv_on : recv_now, k, way);
        else if (way == 5)
            is_busy(s, k);
        else
            recv_now(k);
        if (k->n == -EMSGSIZE)
            k->room = sizeof k->answer;
        if (k->n >= 0) {
            EQUALS(s, fin_rpc_recv_nc(s->rpc, k->id, k->answer, k->room), -ESRCH);
            EQUALS(s, fin_rpc_forget(s->rpc, k->id), -ESRCH);
            k->id = 0;
        } else if (k->n != -EMSGSIZE && fin_cancelled()) {
            return;
        }
    }
}

static void send_some(struct side *s) {
    enum { SOME = 6 };
    struct ask *all[SOME];
    unsigned count = 1 + chance(s, SOME);
    for (unsigned i = 0; i < count; i++) {
        enum how how = chance(s, 10) == 0 ? HOARD : some_way(s);
        all[i] = malloc(sizeof **all);
        send_one(s, all[i], how);
        if (all[i]->id && how == HOARD && !s->broken)
            forget(all[i]);
    }
    if (chance(s, 2))
        pause_here(s);
    for (; count; count--) {
        unsigned i = chance(s, count);
        recv_somehow(s, all[i]);
        free(all[i]);
        all[i] = all[count - 1];
    }
}

static void mistakes(struct side *s, struct ask *k) {
    uint32_t id = 0;
    ssize_t most = (ssize_t)fin_rpc_most(s->rpc);
    make_ask(k, s, PLAIN, 0);
    EQUALS(s, fin_rpc_recv_nc(s->rpc, 0, k->answer, k->room), -ESRCH);
    EQUALS(s, fin_rpc_recv_nc(s->rpc, UINT32_MAX - chance(s, 100), k->answer, k->room), -ESRCH);
    ssize_t n = fin_rpc_send_nc(s->rpc, pattern, (size_t)most + 1 + chance(s, 3), &id);
    if (n != -EMSGSIZE)
        ends(s, n);
    n = fin_rpc_call_nc(s->rpc, pattern, (size_t)most + 1, k->answer, k->room);
    if (n != -EMSGSIZE)
        ends(s, n);
}

static unsigned rounds_of_calls = 20;

static void calls(void *side) {
    struct side *s = side;
    struct ask *k = malloc(sizeof *k);
    for (unsigned n = rounds_of_calls; n && !s->broken && !fin_cancelled(); n--) {
        switch (chance(s, 8)) {
        case 0:
        case 1:
            send_some(s);
            break;
        case 2:
            mistakes(s, k);
            break;
        case 3:
            pause_here(s);
            break;
        default:
            call_somehow(s, k);
        }
    }
    free(k);
}

#endif
