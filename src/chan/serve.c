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
    unsigned running; // requests that are worked on: the other side may send more than it may
    bool waits;       // for one of them to end
    struct fin_sem fewer;
    int error;
    struct waiting w;                // for the next one
    uint64_t line[FIN_RPC_LINE / 8]; // where that is put, if it is short
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
    struct serving *s = o->s;
    if (FIN_UNLIKELY(o->request != o->on_stack))
        free(o->request);
    s->running--;
    if (FIN_UNLIKELY(s->waits)) {
        s->waits = false;
        fin_sem_post(&s->fewer);
    }
}

// The request moves to this async's own stack, where it fits: out of the loop's frame, or out of the channel.
static void serve_one(void *arg) {
    struct serving *s = arg;
    struct fin_rpc *r = s->rpc;
    struct served o;
    bool handed = s->w.decided;
    size_t size = handed ? (size_t)s->w.result : r->next->size;
    uint32_t id = s->w.request;
    o.request = FIN_LIKELY(size <= sizeof o.on_stack) ? o.on_stack : malloc(size);
    if (!o.request) {
        s->error = -ENOMEM;
        return;
    }
    if (FIN_LIKELY(handed))
        ump_copy_line(o.on_stack, s->line, size);
    else
        fin_rpc_take_request(r, o.request, size, &id);
    s->running++;
    o.s = s;
    o.called.left = answered;
    o.called.serves_alert = false;
    fin_called_begin(&o.called);
    o.called.body->entry = (void *)(uintptr_t)s->fn; // for who looks: what the program knows it by
    s->fn(r, id, o.request, size, s->arg);
    fin_called_end(&o.called);
    answered(&o.called);
}

static FIN_BLOCKING int await_fewer(struct serving *s) {
    s->waits = true;
    int error = fin_sem_wait(&s->fewer);
    s->waits = false;
    return error;
}

// 0: there is room for a request, and there is one, unless another AWE took it meanwhile. In a block that has been cancelled
// none is begun, though it came before the cancel. (So a short one is taken here only from who hands over the processor: it
// is begun at once.)
static FIN_BLOCKING int await_next(struct serving *s) {
    struct waiting *w = &s->w;
    int error = FIN_UNLIKELY(s->running == FIN_RPC_MOST) ? await_fewer(s) : 0;
    *w = (struct waiting){.buffer = s->line, .room = sizeof s->line, .now = true};
    if (error == 0)
        error = (int)fin_rpc_await_request(s->rpc, w, false);
    if (FIN_LIKELY(w->decided))
        return 0;
    return error >= 0 && cancelled_here() ? -ECANCELED : error;
}

int fin_rpc_serve(struct fin_rpc *r, fin_rpc_fn *fn, void *arg) {
    struct serving s = {.rpc = r, .fn = fn, .arg = arg};
    int error = 0;
    r->inside++;
    fin_sem_init(&s.fewer, 0);
    fin_finish {
        for (unsigned n = 0; error == 0;) {
            error = await_next(&s);
            if (FIN_LIKELY(s.w.decided) || (error == 0 && r->next)) {
                fin_async_call(serve_one, &s);
                error = s.error;
            }
            n = s.w.decided ? 0 : n + 1; // who has waited has let others run
            if (n == REQUESTS_A_TURN) {
                n = 0;
                fin_yield(); // a client without pauses keeps nobody else from running
            }
        }
    }
    r->inside--;
    return error;
}
