// SPDX-License-Identifier: BSD-2-Clause
// Calls and requests waited for with a continuation: as rpc.c, with the same list of those who wait and the same reader, but
// an AWE that reads, or waits for the reader, has no stack.
#include <stdlib.h>

#include <fin/async.h>
#include <fin/rpc_on.h>

#include "chan/on.h"
#include "chan/rpc.h"
#include "core/cont.h"
#include "core/dispatch.h"

enum { FLOOD = 64, TURNS = 16 };

// In the program's struct fin_rpc_on.
struct rpc_on {
    struct fin_kept kept; // first: the address of this is the state of our continuations
    struct fin_rpc *rpc;
    struct waiting w; // its id: of the call, or 0
    struct fin_cancel_item item;
    enum { CALL, RECV, ACCEPT, SERVE } what;
    int error;             // who serves: why no more requests come
    uint32_t *id;          // of the request, for who accepts
    fin_rpc_fn *fn;        // who serves
    void *arg;
    struct fin_finish_block *block;
    struct fin_awe *waits; // for one that is worked on to end
    unsigned running;      // that are
    struct chan_on chan;   // reads or sends
};
_Static_assert(sizeof(struct rpc_on) <= sizeof(struct fin_rpc_on), "room for a wait");

static FIN_INNER void woken(void *state, int result);
static FIN_INNER void has_read(void *state, int n);
static bool serve_at_once(struct rpc_on *on, uint64_t word, const void *data, size_t size);

static int finish(struct rpc_on *on, ssize_t n) {
    return fin_cont_call(FIN_FOR_MESSAGE, on->kept.cont, on->kept.state, on->kept.size, (int)n);
}

// ---- whose wait another ends

// It goes on with the program's continuation: there is nothing left to do (continuations 2.1: recognition).
static void recognized(struct rpc_on *on, struct fin_awe *a, ssize_t n) {
    struct fin_runtime *rt = fin_rt(fin_self);
    rt->known[FIN_FOR_MESSAGE]++;
    if (record_of(a)->cont != on->kept.cont)
        fin_cont_instead(a, on->kept.cont, on->kept.state, on->kept.size);
    fin_cont_result(a, (int)n);
    fin_schedule_own(rt, a);
}

void fin_rpc_decided_on(struct fin_rpc *r, struct waiting *w) {
    struct fin_awe *a = w->awe;
    w->awe = NULL;
    fin_rpc_unlink(r, w); // who has read reads on, or promotes another
    recognized(w->on, a, w->result);
}

// Of one that reads what another AWE of the thread sends: who sends does what it would do.
static void peeked(struct chan_on *chan, ssize_t n) {
    struct rpc_on *on = (struct rpc_on *)((char *)chan - offsetof(struct rpc_on, chan));
    struct fin_rpc *r = on->rpc;
    struct fin_awe *a = chan->wait.lmp.awe;
    r->reading = false;
    if (n >= 0)
        fin_rpc_handle(r, chan->bytes, (size_t)n);
    else
        in_give(r->chan);
    if (n == -ECANCELED)
        on->w.cancelled = true;
    else if (n < 0)
        fin_rpc_end(r, (int)n);
    if (on->w.decided) {
        fin_rpc_unlink(r, &on->w);
        recognized(on, a, on->w.result);
        fin_rpc_promote(r);
    } else if (on->what == ACCEPT && r->head) {
        fin_rpc_unlink(r, &on->w);
        recognized(on, a, fin_rpc_take_head(r, on->w.buffer, on->w.room, on->id));
    } else {
        if (r->head && on->w.id != 0)
            fin_rpc_promote(r);
        fin_cont_instead(a, woken, &on, sizeof on);
        fin_cont_result(a, 0);
        fin_schedule_own(fin_rt(fin_self), a);
    }
}

// The same where it has not gone through the ring.
static bool taken(struct lmp_waiter *w, uint64_t word, const void *data, size_t size) {
    struct chan_on *chan = (struct chan_on *)((char *)w - offsetof(struct chan_on, wait.lmp));
    struct rpc_on *on = (struct rpc_on *)((char *)chan - offsetof(struct rpc_on, chan));
    struct fin_rpc *r = on->rpc;
    if (!fin_rpc_take(r, &on->w, word, data, size) && !(on->what == SERVE && serve_at_once(on, word, data, size)))
        return false;
    if (!on->w.decided)
        return true;
    if (on->what == ACCEPT)
        *on->id = on->w.request;
    w->at->waiter = NULL;
    r->reading = false;
    in_give(r->chan);
    fin_rpc_unlink(r, &on->w);
    recognized(on, w->awe, on->w.result);
    if (r->first)
        fin_rpc_promote(r);
    return true;
}

static const struct chan_peek peek = {peeked, taken};

// ---- waiting

static void suspended(struct fin_awe *a, void *on) { ((struct rpc_on *)on)->w.awe = a; }

static int wait_for_reader(struct rpc_on *on) {
    on->item.fn = fin_rpc_cancelled;
    on->item.arg = &on->w;
    return fin_cont_suspend(FIN_FOR_MESSAGE, woken, &on, sizeof on, &on->item, suspended, on);
}

static int wait_for_message(struct rpc_on *on) {
    struct chan_on *chan = &on->chan;
    on->rpc->reading = true;
    chan->chan = on->rpc->chan;
    chan->peek = &peek;
    if (fin_chan_on_peek(chan, on->kept.cont, on->kept.state, on->kept.size))
        return 0;
    fin_keep(&chan->kept, has_read, &on, sizeof on);
    int error = fin_chan_on_receive(chan);
    on->rpc->reading = false;
    return error;
}

// A message that is there already. False: none is.
static bool read_one(struct fin_rpc *r) {
    const void *bytes;
    ssize_t n = fin_chan_try_peek(r->chan, &bytes);
    if (n >= 0)
        fin_rpc_handle(r, bytes, (size_t)n);
    else if (n != -EAGAIN)
        fin_rpc_end(r, (int)n);
    return n != -EAGAIN;
}

// Where it has to wait it does not return. The call's result, 0 for a request that is at the head, or why there will be
// none. Pre: it is on the list; it is not afterwards.
static ssize_t await(struct rpc_on *on, int error) {
    struct fin_rpc *r = on->rpc;
    struct waiting *w = &on->w;
    for (unsigned n = 1; !fin_rpc_settled(r, w) && error == 0; n++) {
        bool waits = r->reading || r->head, alone = r->chan->in.ump.alone; // which looks whether a message is there itself
        if (w->cancelled || ((waits || !alone) && fin_cancelled()))
            error = -ECANCELED;
        else if (waits)
            error = wait_for_reader(on);
        else if (n % FLOOD == 0) // what nobody asked for keeps nobody else from running
            error = fin_cont_go_on(FIN_FOR_TURN, woken, &on, sizeof on, 0);
        else if (alone || !read_one(r))
            error = wait_for_message(on);
        else if (r->head && w->id != 0)
            fin_rpc_promote(r);
    }
    fin_rpc_unlink(r, w);
    if (r->first)
        fin_rpc_promote(r);
    return w->decided ? w->result : w->id == 0 && r->head ? 0 : error != 0 ? error : r->end;
}

static int call_or_serve(struct rpc_on *on, int error);

static FIN_INNER void woken(void *state, int result) {
    (void)result;
    call_or_serve(*(struct rpc_on **)state, 0);
}

// Bytes that are peeked at, or why there are none.
static FIN_INNER void has_read(void *state, int n) {
    struct rpc_on *on = *(struct rpc_on **)state;
    struct fin_rpc *r = on->rpc;
    bool of_this_wait = fin_rpc_of_this_wait(n);
    r->reading = false;
    if (n >= 0)
        fin_rpc_handle(r, on->chan.bytes, (size_t)n);
    else if (!of_this_wait)
        fin_rpc_end(r, n);
    if (r->head && on->w.id != 0)
        fin_rpc_promote(r);
    call_or_serve(on, of_this_wait ? n : 0);
}

static struct rpc_on *begin(struct fin_rpc_on *storage, struct fin_rpc *r, const struct waiting *w, fin_cont *cont,
                            const void *state, size_t size) {
    struct rpc_on *on = (struct rpc_on *)(void *)storage;
    fin_keep(&on->kept, cont, state, size);
    on->rpc = r;
    on->w = *w;
    on->w.on = on;
    return on;
}

// ---- calls

static int await_answer(struct rpc_on *on) {
    ssize_t n = fin_rpc_call_await(on->rpc, &on->w);
    if (n != -EAGAIN)
        return finish(on, n);
    fin_rpc_join(on->rpc, &on->w);
    return call_or_serve(on, 0);
}

static FIN_INNER void has_sent(void *state, int result) {
    struct rpc_on *on = *(struct rpc_on **)state;
    if (result == 0) {
        await_answer(on);
        return;
    }
    fin_rpc_call_end(on->rpc, on->w.id);
    finish(on, result);
}

static int send_on(struct rpc_on *on, uint64_t word, const void *request, size_t size) {
    struct chan_on *chan = &on->chan;
    chan->chan = on->rpc->chan;
    chan->data = request;
    chan->size = size;
    chan->word = word;
    chan->behind = true;
    chan->receives = false;
    fin_keep(&chan->kept, has_sent, &on, sizeof on);
    return fin_chan_on_send(chan);
}

int fin_rpc_call_on(struct fin_rpc *r, const void *request, size_t size, void *answer, size_t room,
                    struct fin_rpc_on *storage, fin_cont *cont, const void *state, size_t state_size) {
    int begun = fin_cont_begin(cont, state_size, true);
    if (begun < 0)
        return begun;
    uint32_t id = 0;
    int error = begun > 0 ? -ECANCELED : r->end != 0 ? r->end : fin_rpc_call_new(r, &id);
    if (error != 0)
        return fin_cont_call(FIN_FOR_MESSAGE, cont, state, state_size, error);
    struct rpc_on *on =
        begin(storage, r, &(struct waiting){.id = id, .buffer = answer, .room = room}, cont, state, state_size);
    on->what = CALL;
    uint64_t word = (uint64_t)id << 32 | RPC_REQUEST;
    error = fin_chan_send_behind_now(r->chan, word, request, size);
    if (error == 0)
        return await_answer(on);
    if (error == -EAGAIN)
        return send_on(on, word, request, size);
    fin_rpc_call_end(r, id);
    return finish(on, error);
}

int fin_rpc_recv_on(struct fin_rpc *r, uint32_t id, void *answer, size_t room, struct fin_rpc_on *storage, fin_cont *cont,
                    const void *state, size_t state_size) {
    int begun = fin_cont_begin(cont, state_size, true);
    if (begun != 0)
        return begun < 0 ? begun : fin_cont_call(FIN_FOR_MESSAGE, cont, state, state_size, -ECANCELED);
    const struct waiting w = {.id = id, .buffer = answer, .room = room, .keep = true};
    struct rpc_on *on = begin(storage, r, &w, cont, state, state_size);
    on->what = RECV;
    return await_answer(on);
}

// ---- requests

int fin_rpc_accept_on(struct fin_rpc *r, void *request, size_t room, uint32_t *id, struct fin_rpc_on *storage,
                      fin_cont *cont, const void *state, size_t state_size) {
    int begun = fin_cont_begin(cont, state_size, true);
    if (begun != 0)
        return begun < 0 ? begun : fin_cont_call(FIN_FOR_MESSAGE, cont, state, state_size, -ECANCELED);
    struct rpc_on *on = begin(storage, r, &(struct waiting){.buffer = request, .room = room}, cont, state, state_size);
    on->what = ACCEPT;
    on->id = id;
    fin_rpc_join(r, &on->w);
    return call_or_serve(on, 0);
}

// A request that is worked on. `kept` has the program's function, to be shown.
struct request {
    struct fin_kept kept; // first
    struct rpc_on *on;
    size_t size;
    uint32_t id;
    uint64_t bytes[];
};

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

// The finish block keeps fn from giving up this stack.
static FIN_INNER FIN_BLOCKING void work(void *state, int result) {
    struct request *q = *(struct request **)state;
    struct rpc_on *on = q->on;
    (void)result;
    fin_finish {
        on->fn(on->rpc, q->id, q->bytes, q->size, on->arg);
    }
    free(q);
    on->running--;
    if (on->waits && (on->error == 0 || on->running == 0)) {
        fin_schedule_decided(on->waits);
        on->waits = NULL;
    }
    fin_cont_end();
}

// An AWE that will work on a request of that size, which is still to be stored there. NULL: no memory.
static struct request *start_work(struct rpc_on *on, size_t size) {
    struct request *q = malloc(sizeof *q + size);
    if (!q)
        return NULL;
    fin_keep(&q->kept, (fin_cont *)(uintptr_t)on->fn, NULL, 0);
    q->on = on;
    q->size = size;
    if (!fin_cont_start_(on->block, work, &q, sizeof q)) {
        free(q);
        return NULL;
    }
    on->running++;
    return q;
}

// Takes the request at the head. 0 or -ENOMEM: then it stays.
static int serve_head(struct rpc_on *on) {
    struct request *q = start_work(on, on->rpc->size);
    if (!q)
        return -ENOMEM;
    fin_rpc_take_head(on->rpc, q->bytes, q->size, &q->id);
    return 0;
}

// In the AWE that sends it. After the last one that there is room for who serves has to be woken.
static bool serve_at_once(struct rpc_on *on, uint64_t word, const void *data, size_t size) {
    bool may = (uint32_t)word == RPC_REQUEST && !on->rpc->client && on->running + 1 < FIN_RPC_MOST;
    struct request *q = may ? start_work(on, size) : NULL;
    if (!q)
        return false;
    q->id = (uint32_t)(word >> 32);
    if (size > 0)
        memcpy(q->bytes, data, size);
    return true;
}

static FIN_INNER void serve_more(void *state, int result) {
    struct rpc_on *on = *(struct rpc_on **)state;
    (void)result;
    fin_rpc_join(on->rpc, &on->w);
    call_or_serve(on, 0);
}

static int serving_ends(struct rpc_on *on) {
    if (on->running > 0)
        return wait_for_work(on, all_ended);
    on->rpc->inside--;
    return finish(on, on->error);
}

static int call_or_serve(struct rpc_on *on, int error) {
    struct fin_rpc *r = on->rpc;
    struct waiting *w = &on->w;
    for (unsigned turn = 1;; turn++) {
        ssize_t n = await(on, error);
        if (w->id != 0 && !w->decided)
            fin_rpc_call_leave(r, w->id);
        if (on->what == CALL && !w->decided)
            fin_rpc_forget(r, w->id);
        if (on->what != SERVE)
            return finish(on, on->what == ACCEPT && n == 0 ? fin_rpc_take_head(r, w->buffer, w->room, on->id) : n);
        on->error = n != 0 ? (int)n : fin_cancelled() ? -ECANCELED : serve_head(on);
        if (on->error != 0)
            return serving_ends(on);
        if (on->running == FIN_RPC_MOST)
            return wait_for_work(on, serve_more);
        if (turn == TURNS)
            return fin_cont_go_on(FIN_FOR_TURN, serve_more, &on, sizeof on, 0);
        fin_rpc_join(r, w);
    }
}

int fin_rpc_serve_on(struct fin_rpc *r, fin_rpc_fn *fn, void *arg, struct fin_rpc_on *storage, fin_cont *cont,
                     const void *state, size_t state_size) {
    int begun = fin_cont_begin(cont, state_size, true);
    if (begun != 0)
        return begun < 0 ? begun : fin_cont_call(FIN_FOR_MESSAGE, cont, state, state_size, -ECANCELED);
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
    return call_or_serve(on, 0);
}
