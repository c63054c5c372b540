// SPDX-License-Identifier: BSD-2-Clause
// A dispatch loop without a stack that sleeps: who hears that a request has come begins its work, so that the loop has
// nothing to do but to wait again; so it is while calls wait at the same end, and these sleep on. Not where it serves as
// many as it may, or its block, or one around that, has been cancelled or is just being so: then the request stays, also
// where the loop has a stack.
#include <pthread.h>

#include "rpc.h"

enum { CALLS = 30 };

static struct fin_rpc_on serving;
static struct fin_event go_on;
static unsigned at_work, done;

static void served(void *state, int result) {
    (void)state;
    CHECK_EQ(result, -ECANCELED);
    fin_cont_end();
}

static void begin_to_serve(void *handler, int result) {
    CHECK_EQ(result, 0);
    fin_rpc_serve_on(server, *(fin_rpc_fn **)handler, NULL, &serving, served, NULL, 0);
}

// Until who serves, on this thread, sleeps.
static void let_sleep(void) { CHECK_EQ(fin_sleep_nc(FIN_MS), 0); }

static void answers_at_once(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *arg) {
    (void)r, (void)arg;
    CHECK_EQ(size, sizeof(uint64_t));
    reply_to(id, *(uint64_t *)request);
    done++;
}

static void sends(void *x) { CHECK_EQ(fin_rpc_send(caller, x, sizeof(uint64_t), &(uint32_t){0}), 0); }

static void asleep(enum kind kind) {
    struct fin_thread_handle t;
    open_rpc(kind);
    done = 0;
    fin_finish {
        fin_async_cont(begin_to_serve, &(fin_rpc_fn *){answers_at_once}, sizeof(fin_rpc_fn *));
        let_sleep();
        fin_stats_clear();
        for (uint64_t i = 0; i < CALLS; i++) {
            if (kind == PAIR) {
                CHECK_EQ(fin_thread_start(&t, sends, &i), 0);
                fin_thread_join_nc(&t);
            } else {
                sends(&i);
            }
            while (done <= i)
                fin_yield();
            let_sleep();
        }
        CHECK_EQ(waits().with_stack, 0);
        if (kind != LOCAL) { // there who sends begins the work, and the loop sleeps on
            CHECK(waits().recognized > 0);
            CHECK(waits().recognized >= waits().with_continuation);
        }
        fin_cancel();
    }
    close_rpc();
}

// ---- as many as there may be

static void works(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *arg) {
    (void)r, (void)size, (void)arg;
    at_work++;
    uint64_t x = *(uint64_t *)request;
    CHECK(at_work <= FIN_RPC_MOST);
    CHECK_EQ(fin_event_await(&go_on, 1), 0);
    CHECK_EQ(x, id);
    at_work--;
    done++;
}

static void sends_raw(uint32_t n) {
    struct {
        uint32_t kind, id;
        uint64_t x;
    } m = {1, n, n};
    CHECK_EQ(fin_chan_send(a, &m, sizeof m), 0);
}

static void at_the_limit(enum kind kind) {
    enum { MORE = 10 };
    fin_event_init(&go_on);
    at_work = done = 0;
    open_kind(kind, 1 << 20, 0);
    CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
    fin_finish {
        fin_async_cont(begin_to_serve, &(fin_rpc_fn *){works}, sizeof(fin_rpc_fn *));
        for (uint32_t n = 0; n < FIN_RPC_MOST - MORE; n++)
            sends_raw(n);
        while (at_work < FIN_RPC_MOST - MORE)
            fin_yield();
        for (uint32_t n = FIN_RPC_MOST - MORE; n < FIN_RPC_MOST + MORE; n++) {
            let_sleep();
            sends_raw(n);
        }
        let_sleep();
        CHECK_EQ(at_work, FIN_RPC_MOST);
        fin_event_advance(&go_on, 1);
        while (done < FIN_RPC_MOST + MORE)
            fin_yield();
        fin_cancel();
    }
    CHECK_EQ(fin_rpc_close(server), 0);
    CHECK_EQ(fin_chan_close(a), 0);
}

// ---- cancelled

static void not_any_more(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *arg) {
    (void)r, (void)id, (void)request, (void)size, (void)arg;
    done++;
}

static void serves(void *unused) {
    (void)unused;
    CHECK_EQ(fin_rpc_serve(server, not_any_more, NULL), -ECANCELED);
}

// The message has come when the block is cancelled, and the thread has not heard of it.
static void cancelled(enum kind kind, bool with_stack) {
    uint64_t x = 0;
    uint32_t id;
    open_rpc(kind);
    done = 0;
    fin_finish {
        if (with_stack)
            fin_async_call(serves, NULL);
        else
            fin_async_cont(begin_to_serve, &(fin_rpc_fn *){not_any_more}, sizeof(fin_rpc_fn *));
        let_sleep();
        CHECK_EQ(fin_rpc_send(caller, &(uint64_t){7}, sizeof x, &id), 0);
        fin_cancel();
    }
    CHECK_EQ(done, 0);
    CHECK_EQ(next_request(&x), id);
    CHECK_EQ(x, 7);
    close_rpc();
}

// ---- while it is being cancelled

static struct fin_cancel_item newest;
static uint32_t sent_id;

static void sends_in_cancel(void *raw) {
    if (raw)
        CHECK_EQ(fin_chan_try_send(a, &(uint64_t[2]){1 | 5ULL << 32, 7}, 2 * sizeof(uint64_t)), 0);
    else
        CHECK_EQ(fin_rpc_send_nc(caller, &(uint64_t){7}, sizeof(uint64_t), &sent_id), 0);
}

static void adds_item(void *raw) {
    let_sleep();
    fin_cancel_item_add(&newest, sends_in_cancel, raw);
    CHECK_EQ(fin_sleep_nc(3 * FIN_MS), 0);
    fin_cancel_item_remove(&newest);
}

// The newest item, which the cancel comes to before it comes to the loop, sends. `around`: it is of a block around that of
// the loop.
static void in_a_cancel(enum kind kind, bool raw, bool around) {
    uint64_t x = 0;
    open_rpc(kind);
    done = 0;
    fin_finish_as(all) {
        if (around) {
            fin_async_call(adds_item, raw ? &newest : NULL);
            fin_finish {
                fin_async_cont(begin_to_serve, &(fin_rpc_fn *){not_any_more}, sizeof(fin_rpc_fn *));
                CHECK_EQ(fin_sleep_nc(2 * FIN_MS), 0);
                fin_cancel_as(all);
            }
        } else {
            fin_async_cont(begin_to_serve, &(fin_rpc_fn *){not_any_more}, sizeof(fin_rpc_fn *));
            let_sleep();
            fin_async_call(adds_item, raw ? &newest : NULL);
            CHECK_EQ(fin_sleep_nc(2 * FIN_MS), 0);
            fin_cancel();
        }
    }
    CHECK_EQ(done, 0);
    CHECK_EQ(next_request(&x), raw ? 5 : sent_id);
    CHECK_EQ(x, 7);
    close_rpc();
}

// ---- while calls wait at the same end

enum { SOME = 4 };
static struct fin_rpc_on calling[SOME];

static void given_up(void *state, int result) {
    (void)state;
    CHECK_EQ(result, -ECANCELED);
    fin_cont_end();
}

static void calls(void *storage, int result) {
    static uint64_t request, answer;
    (void)result;
    fin_rpc_call_on(server, &request, sizeof request, &answer, sizeof answer, *(struct fin_rpc_on **)storage, given_up, NULL,
                    0);
}

static void counts(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *arg) {
    (void)r, (void)id, (void)request, (void)size, (void)arg;
    done++;
}

static void *sends_some(void *n) {
    for (uint32_t i = 0; i < *(uint32_t *)n; i++)
        sends_raw(i);
    return NULL;
}

// The loop reads the others of a burst itself. (The thread waits for the sender without the library, so that it sees each
// burst as a whole.)
static void beside_calls(unsigned callers, uint32_t burst) {
    pthread_t t;
    open_kind(PAIR, 4096, 0);
    CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
    done = 0;
    fin_finish {
        fin_async_cont(begin_to_serve, &(fin_rpc_fn *){counts}, sizeof(fin_rpc_fn *));
        let_sleep();
        for (unsigned i = 0; i < callers; i++)
            fin_async_cont(calls, &(struct fin_rpc_on *){&calling[i]}, sizeof(struct fin_rpc_on *));
        let_sleep();
        fin_stats_clear();
        for (uint32_t n = 0; n < CALLS; n++) {
            CHECK_EQ(pthread_create(&t, NULL, sends_some, &burst), 0);
            CHECK_EQ(pthread_join(t, NULL), 0);
            while (done < (n + 1) * burst)
                fin_yield();
            let_sleep();
        }
        CHECK(waits().recognized > 0);
        CHECK(waits().recognized >= waits().with_continuation || burst > 1);
        CHECK(waits().with_continuation <= 2 * CALLS);
        fin_cancel();
    }
    CHECK_EQ(fin_rpc_close(server), 0);
    CHECK_EQ(fin_chan_close(a), 0);
}

// ---- what it shows of itself

static struct fin_awe *worker;

static void shows(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *arg) {
    worker = fin_awe_self();
    CHECK(fin_cont_of(worker) == (fin_cont *)(uintptr_t)shows);
    let_sleep();
    CHECK(fin_cont_of(worker) == (fin_cont *)(uintptr_t)shows);
    answers_at_once(r, id, request, size, arg);
}

static void is_shown(enum kind kind) {
    open_rpc(kind);
    done = 0;
    fin_finish {
        fin_async_cont(begin_to_serve, &(fin_rpc_fn *){shows}, sizeof(fin_rpc_fn *));
        let_sleep();
        worker = NULL;
        sends(&(uint64_t){3});
        while (!worker)
            fin_yield();
        CHECK(fin_cont_of(worker) == (fin_cont *)(uintptr_t)shows);
        while (done == 0)
            fin_yield();
        fin_cancel();
    }
    close_rpc();
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        asleep(kind);
        if (!getenv("FIN_FEW")) // thousands of stacks
            at_the_limit(kind);
        if (kind != LOCAL) // where what is sent is served at once
            cancelled(kind, false);
        cancelled(kind, true);
        for (int how = 0; how < 4; how++)
            in_a_cancel(kind, how & 1, how & 2);
        is_shown(kind);
    }
    beside_calls(1, 1);
    beside_calls(SOME, 10);
    return 0;
}
