// SPDX-License-Identifier: BSD-2-Clause
// The dispatch loop (ac-extensions 5.3): each request in an async of its own.
#include <stdlib.h>

#include <fin/async.h>

#include "chan/rpc.h"
#include "core/dispatch.h"

enum { ON_STACK = 512 };

struct serving {
    struct fin_rpc *rpc;
    fin_rpc_fn *fn;
    void *arg;
    struct fin_sem room; // for requests that are worked on: the other side may send more than it may
    int error;
};

struct served {
    struct fin_called called; // first
    struct serving *s;
    uint64_t on_stack[ON_STACK / 8];
    void *request; // on_stack, or memory of its own
};

// Its function has returned, or its AWE has ended there.
static void answered(struct fin_called *called) {
    struct served *o = (struct served *)(void *)called;
    if (o->request != o->on_stack)
        free(o->request);
    fin_sem_post(&o->s->room);
}

// The request moves to this async's own stack, where it fits.
static void serve_one(void *arg) {
    struct serving *s = arg;
    struct fin_rpc *r = s->rpc;
    struct served o;
    uint32_t id;
    o.request = r->size <= sizeof o.on_stack ? o.on_stack : malloc(r->size);
    if (!o.request) {
        s->error = -ENOMEM;
        return;
    }
    o.s = s;
    o.called.left = answered;
    o.called.serves_alert = false;
    ssize_t n = fin_rpc_take_head(r, o.request, r->size, &id);
    fin_called_begin(&o.called);
    o.called.body->entry = (void *)(uintptr_t)s->fn; // for who looks: what the program knows it by
    s->fn(r, id, o.request, (size_t)n, s->arg);
    fin_called_end(&o.called);
    answered(&o.called);
}

// 0: there is room for a request, and there is one, unless another AWE took it meanwhile. In a block that has been cancelled
// none is begun, though it came before the cancel.
static FIN_BLOCKING int await_next(struct serving *s) {
    struct waiting w = {.id = 0};
    int error = fin_sem_wait(&s->room);
    if (error == 0)
        error = (int)fin_rpc_await_request(s->rpc, &w, false);
    return error == 0 && cancelled_here() ? -ECANCELED : error;
}

int fin_rpc_serve(struct fin_rpc *r, fin_rpc_fn *fn, void *arg) {
    struct serving s = {.rpc = r, .fn = fn, .arg = arg};
    int error = 0;
    r->inside++;
    fin_sem_init(&s.room, FIN_RPC_MOST);
    fin_finish {
        for (unsigned n = 1; error == 0; n++) {
            error = await_next(&s);
            if (error == 0 && r->head) {
                fin_async_call(serve_one, &s);
                error = s.error;
            } else {
                fin_sem_post(&s.room);
            }
            if (n % REQUESTS_A_TURN == 0)
                fin_yield(); // a client without pauses keeps nobody else from running
        }
    }
    r->inside--;
    return error;
}
