// SPDX-License-Identifier: BSD-2-Clause
// Calls and requests that are waited for with a continuation, asleep: who hears that a message has come, or sends it on the
// same thread, does what the waiter would do, and its continuation has nothing left to do.
#include "rpc.h"

enum { CALLS = 20 };

static struct fin_rpc_on calling, accepting;
static uint64_t x, y, request;
static uint32_t id;
static unsigned answered, accepted;

static void has_answer(void *state, int n) {
    CHECK_EQ(n, sizeof y);
    CHECK_EQ(y, answer_to(x));
    answered++;
    if (++x == CALLS)
        fin_cont_end();
    fin_rpc_call_on(caller, &x, sizeof x, &y, sizeof y, &calling, has_answer, state, 0);
}

static void begin(void *state, int result) {
    CHECK_EQ(result, 0);
    fin_rpc_call_on(caller, &x, sizeof x, &y, sizeof y, &calling, has_answer, state, 0);
}

// It answers when the thread has slept: then the caller does.
static void answer_late(void *state, int result) {
    static struct fin_on on;
    static bool slept;
    CHECK_EQ(result, 0);
    if ((slept = !slept))
        fin_sleep_on(&on, FIN_MS, answer_late, state, 0);
    reply_to(id, request);
    fin_cont_end();
}

static void has_request(void *state, int n) {
    CHECK_EQ(n, sizeof request);
    CHECK(fin_async_cont_beside(answer_late, NULL, 0) != NULL);
    if (++accepted == CALLS)
        fin_cont_end();
    fin_rpc_accept_on(server, &request, sizeof request, &id, &accepting, has_request, state, 0);
}

static void begin_to_accept(void *state, int result) {
    CHECK_EQ(result, 0);
    fin_rpc_accept_on(server, &request, sizeof request, &id, &accepting, has_request, state, 0);
}

static void serve(void *unused) {
    (void)unused;
    fin_finish {
        CHECK(fin_async_cont(begin_to_accept, NULL, 0) != NULL);
    }
    CHECK_EQ(accepted, CALLS);
}

static void call(void *unused) {
    (void)unused;
    fin_finish {
        CHECK(fin_async_cont(begin, NULL, 0) != NULL);
    }
    CHECK_EQ(answered, CALLS);
}

// Some find the message when they look, before they wait.
static void sleeps(enum kind kind) {
    struct fin_thread_handle t;
    open_rpc(kind);
    x = 0;
    answered = accepted = 0;
    fin_stats_clear();
    if (kind == PAIR) {
        CHECK_EQ(fin_thread_start(&t, serve, NULL), 0);
        call(NULL);
    } else {
        fin_finish {
            fin_async_call(serve, NULL);
            call(NULL);
        }
    }
    CHECK_EQ(waits().with_stack, 0);
    CHECK(waits().recognized > 0);
    CHECK_EQ(waits().recognized, waits().with_continuation);
    if (kind == PAIR)
        fin_thread_join_nc(&t);
    close_rpc();
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++)
        sleeps(kind);
    return 0;
}
