// SPDX-License-Identifier: BSD-2-Clause
// The dispatch loop without a stack: each request in an AWE of its own.
#include <stdlib.h>

#include <fin/async.h>

#include "chan/rpc_on.h"
#include "core/cont.h"

// A request that is worked on. `kept` has the program's function, to be shown.
struct request {
    struct fin_kept kept; // first
    struct rpc_on *on;
    union {
        size_t size;
        struct request *next; // of those that wait for another use
    };
    uint32_t id;
    bool small;
    uint64_t bytes[];
};

// Of small ones the end keeps some. A sanitizer is to see who looks at one that is over.
enum { SMALL = 256, MOST_SPARE = 64 };

static inline struct request *request_new(struct fin_rpc *r, size_t size) {
    struct request *q = r->spare;
    if (FIN_LIKELY(q && size <= SMALL)) {
        r->spare = q->next;
        r->spares--;
        return q;
    }
    q = malloc(sizeof *q + (size <= SMALL ? SMALL : size));
    if (q)
        q->small = size <= SMALL;
    return q;
}

static inline void request_free(struct fin_rpc *r, struct request *q) {
    if (FIN_SANITIZED || !q->small || r->spares == MOST_SPARE) {
        free(q);
        return;
    }
    q->next = r->spare;
    r->spare = q;
    r->spares++;
}

void fin_rpc_spares_end(struct fin_rpc *r) {
    for (struct request *q = r->spare, *next; q; q = next) {
        next = q->next;
        free(q);
    }
}

static FIN_INNER void all_ended(void *state, int result) {
    struct rpc_on *on = *(struct rpc_on **)state;
    (void)result;
    on->rpc->inside--;
    finish(on, on->error);
}

static void waits(struct fin_awe *a, void *on) { ((struct rpc_on *)on)->waits = a; }

static int wait_for_work(struct rpc_on *on, fin_cont *then) {
    return fin_cont_suspend(FIN_FOR_MESSAGE, then, &on, sizeof on, NULL, waits, on);
}

struct served {
    struct fin_called called; // first
    struct request *request;
};

// Its function has returned, or its AWE has ended there.
static void answered(struct fin_called *called) {
    struct request *q = ((struct served *)(void *)called)->request;
    struct rpc_on *on = q->on;
    request_free(on->rpc, q);
    on->running--;
    if (on->waits && (on->error == 0 || on->running == 0)) {
        fin_schedule_decided(on->waits);
        on->waits = NULL;
    }
}

// The finish block keeps fn from giving up this stack.
static FIN_INNER FIN_BLOCKING void work(void *state, int result) {
    struct request *q = *(struct request **)state;
    struct served o = {{.left = answered}, q};
    (void)result;
    fin_called_begin(&o.called);
    fin_finish {
        q->on->fn(q->on->rpc, q->id, q->bytes, q->size, q->on->arg);
    }
    fin_called_end(&o.called);
    answered(&o.called);
    fin_cont_end();
}

// An AWE that will work on a request of that size, which is still to be stored there. NULL: no memory.
static struct request *start_work(struct rpc_on *on, size_t size) {
    struct request *q = request_new(on->rpc, size);
    if (!q)
        return NULL;
    fin_keep(&q->kept, (fin_cont *)(uintptr_t)on->fn, NULL, 0);
    q->on = on;
    q->size = size;
    if (!fin_cont_start_(on->block, work, &q, sizeof q)) {
        request_free(on->rpc, q);
        return NULL;
    }
    on->running++;
    return q;
}

// Takes the request at the head. The loop is to read on: nobody else is woken for it. 0 or -ENOMEM: then the request stays.
static int serve_head(struct rpc_on *on) {
    struct request *q = start_work(on, on->rpc->next->size);
    if (!q)
        return -ENOMEM;
    on->rpc->reading = true;
    fin_rpc_take_request(on->rpc, q->bytes, q->size, &q->id);
    on->rpc->reading = false;
    return 0;
}

// Where the loop would do it, too, if it ran.
static bool may_serve(const struct rpc_on *on) {
    return on->running + 1 < FIN_RPC_MOST && !block_is_being_cancelled(fin_rt(fin_self), on->block);
}

bool fin_rpc_serve_at_once(struct rpc_on *on, uint64_t word, const void *data, size_t size) {
    bool may = (uint32_t)word == RPC_REQUEST && !on->rpc->client && may_serve(on);
    struct request *q = may ? start_work(on, size) : NULL;
    if (!q)
        return false;
    q->id = (uint32_t)(word >> 32);
    if (FIN_LIKELY(size <= FIN_RPC_LINE))
        ump_copy_line(q->bytes, data, size);
    else
        memcpy(q->bytes, data, size);
    return true;
}

bool fin_rpc_serve_known(struct rpc_on *on) {
    return may_serve(on) && serve_head(on) == 0;
}

static FIN_INNER void serve_more(void *state, int result) {
    struct rpc_on *on = *(struct rpc_on **)state;
    (void)result;
    fin_rpc_join(on->rpc, &on->w);
    fin_rpc_on_go(on, 0);
}

static int serving_ends(struct rpc_on *on) {
    if (on->running > 0)
        return wait_for_work(on, all_ended);
    on->rpc->inside--;
    return finish(on, on->error);
}

int fin_rpc_serve_next(struct rpc_on *on, ssize_t n, unsigned turn) {
    struct fin_cont_record *held;
    fin_cont_hold(&held); // fin_cont_begin has seen one: the request is not to have it
    on->error = n != 0 ? (int)n : fin_cancelled() ? -ECANCELED : serve_head(on);
    fin_cont_let_go(held);
    if (on->error != 0)
        return serving_ends(on);
    if (on->running < FIN_RPC_MOST && turn < REQUESTS_A_TURN)
        return 1;
    if (on->rpc->first) // it does not read on now
        fin_rpc_promote(on->rpc);
    return on->running == FIN_RPC_MOST ? wait_for_work(on, serve_more)
                                       : fin_cont_go_on(FIN_FOR_TURN, serve_more, &on, sizeof on, 0);
}

int fin_rpc_serve_on(struct fin_rpc *r, fin_rpc_fn *fn, void *arg, struct fin_rpc_on *storage, fin_cont *cont,
                     const void *state, size_t state_size) {
    int error = fin_cont_may_wait(cont, state, state_size);
    if (error)
        return error;
    struct rpc_on *on = begin(storage, r, &(struct waiting){.id = 0}, cont, state, state_size);
    on->what = SERVE;
    on->fn = fn;
    on->arg = arg;
    on->block = written_block(fin_rt(fin_self)->thread.current);
    on->running = 0;
    on->waits = NULL;
    on->error = 0;
    r->inside++;
    fin_rpc_join(r, &on->w);
    return fin_rpc_on_go(on, 0);
}
