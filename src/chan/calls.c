// SPDX-License-Identifier: BSD-2-Clause
// The calls of an end, by id. An index is used again only when the answer has come, whoever wanted it or not, so that an
// answer cannot meet another call; the generation tells apart what was answered twice.
#include <stdlib.h>

#include "chan/rpc.h"

enum { LEAST_CALLS = 16 };

static inline struct call *find(struct fin_rpc *r, uint32_t id) {
    uint32_t i = fin_rpc_index(id);
    struct call *c = i < r->count ? &r->calls[i] : NULL;
    return c && c->id == id && c->state != CALL_FREE ? c : NULL;
}

// Pre: none is free. The end of the list is `count`, which changes.
static int grow(struct fin_rpc *r) {
    uint32_t before = r->count, count = before ? before * 2 : LEAST_CALLS;
    if (before == FIN_RPC_MOST)
        return -ENOSPC;
    struct call *calls = realloc(r->calls, count * sizeof *calls);
    if (!calls)
        return -ENOMEM;
    for (uint32_t i = before; i < count; i++)
        calls[i] = (struct call){.id = FIN_RPC_MOST + i, .next = i + 1};
    r->calls = calls;
    r->count = count;
    r->free = before;
    r->last_free = count - 1;
    return 0;
}

int fin_rpc_call_new(struct fin_rpc *r, uint32_t *id) {
    int error = FIN_UNLIKELY(r->free == r->count) ? grow(r) : 0;
    if (error != 0)
        return error;
    struct call *c = &r->calls[r->free];
    r->free = c->next;
    c->state = CALL_SENT;
    *id = c->id;
    return 0;
}

static void end_call(struct fin_rpc *r, struct call *c) {
    if (c->state == CALL_ANSWERED)
        free(c->answer);
    fin_rpc_put_back(r, c);
}

void fin_rpc_call_end(struct fin_rpc *r, uint32_t id) {
    struct call *c = find(r, id);
    if (c)
        end_call(r, c);
}

int fin_rpc_forget(struct fin_rpc *r, uint32_t id) {
    struct call *c = find(r, id);
    if (!c || c->state == CALL_FORGOTTEN)
        return -ESRCH;
    if (c->state == CALL_AWAITED)
        return -EBUSY;
    if (c->state == CALL_ANSWERED)
        end_call(r, c);
    else
        c->state = CALL_FORGOTTEN;
    return 0;
}

static ssize_t take_answer(struct fin_rpc *r, struct call *c, const struct waiting *w) {
    ssize_t n = c->answer ? (ssize_t)c->size : -ENOMEM;
    if (c->answer && c->size > w->room) {
        if (w->keep)
            return -EMSGSIZE;
        n = -EMSGSIZE;
    }
    if (n > 0)
        memcpy(w->buffer, c->answer, c->size);
    end_call(r, c);
    return n;
}

ssize_t fin_rpc_call_await(struct fin_rpc *r, struct waiting *w) {
    struct call *c = find(r, w->id);
    if (!c || c->state == CALL_FORGOTTEN)
        return -ESRCH;
    if (c->state == CALL_AWAITED)
        return -EBUSY;
    if (c->state == CALL_ANSWERED)
        return take_answer(r, c, w);
    c->state = CALL_AWAITED;
    c->waiting = w;
    return -EAGAIN;
}

void fin_rpc_call_leave(struct fin_rpc *r, uint32_t id) { find(r, id)->state = CALL_SENT; }

static void store(struct call *c, const void *bytes, size_t size) {
    c->state = CALL_ANSWERED;
    c->size = size;
    c->answer = malloc(size ? size : 1);
    if (c->answer)
        memcpy(c->answer, bytes, size);
}

static void decide(struct fin_rpc *r, struct call *c, const void *bytes, size_t size) {
    struct waiting *w = c->waiting;
    if (FIN_LIKELY(size <= w->room)) {
        fin_rpc_give(w, bytes, size);
        fin_rpc_put_back(r, c);
    } else {
        w->decided = true;
        w->result = -EMSGSIZE;
        if (w->keep)
            store(c, bytes, size);
        else
            fin_rpc_put_back(r, c);
    }
    if (w->awe && w->on) {
        fin_rpc_decided_on(r, w);
    } else if (w->awe) {
        fin_schedule_decided(w->awe);
        r->answered = w->awe;
        w->awe = NULL;
    }
}

void fin_rpc_answered(struct fin_rpc *r, uint32_t id, const void *bytes, size_t size) {
    struct call *c = find(r, id);
    if (FIN_LIKELY(c && c->state == CALL_AWAITED)) {
        decide(r, c, bytes, size);
        return;
    }
    if (c && c->state == CALL_SENT) {
        store(c, bytes, size);
        return;
    }
    r->strays++;
    if (c && c->state == CALL_FORGOTTEN)
        fin_rpc_put_back(r, c);
}

void fin_rpc_calls_end(struct fin_rpc *r) {
    for (uint32_t i = 0; i < r->count; i++)
        if (r->calls[i].state == CALL_ANSWERED)
            free(r->calls[i].answer);
    free(r->calls);
}
