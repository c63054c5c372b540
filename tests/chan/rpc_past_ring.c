// SPDX-License-Identifier: BSD-2-Clause
// Requests and answers between AWEs of one thread go to who waits for them, and not through the ring: with stacks and
// without. What nobody waits for goes into the ring.
#include "rpc.h"
#include "chan/chan.h"

enum { CALLS = 10 };

static struct fin_rpc_on calling, accepting;
static uint64_t x, y, request;
static uint32_t id;
static unsigned answered;

static uint64_t lines(void) { return a->out.ump.head + b->out.ump.head; }

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

static void has_request(void *state, int n) {
    if (n == -ECANCELED)
        fin_cont_end();
    CHECK_EQ(n, sizeof request);
    reply_to(id, request);
    fin_rpc_accept_on(server, &request, sizeof request, &id, &accepting, has_request, state, 0);
}

static void begin_to_accept(void *state, int result) {
    CHECK_EQ(result, 0);
    fin_rpc_accept_on(server, &request, sizeof request, &id, &accepting, has_request, state, 0);
}

static void accepts_with_stack(void *unused) {
    uint64_t asked;
    (void)unused;
    while (fin_rpc_accept(server, &asked, sizeof asked, &id) == sizeof asked)
        reply_to(id, asked);
}

static void calls(bool with_stack, bool server_with_stack) {
    open_rpc(LOCAL);
    x = 0;
    answered = 0;
    fin_finish_as(all) {
        if (server_with_stack)
            fin_async_call(accepts_with_stack, NULL);
        else
            CHECK(fin_async_cont(begin_to_accept, NULL, 0) != NULL);
        fin_yield();
        uint64_t before = lines();
        if (with_stack) {
            for (; answered < CALLS; answered++)
                CHECK_EQ(ask(answered), 8);
        } else {
            fin_finish {
                CHECK(fin_async_cont(begin, NULL, 0) != NULL);
            }
        }
        CHECK_EQ(answered, CALLS);
        CHECK_EQ(lines(), before);
        fin_cancel_as(all);
    }
    uint64_t before = lines();
    CHECK_EQ(fin_rpc_send(caller, &x, sizeof x, &id), 0);
    CHECK_EQ(lines(), before + 1);
    close_rpc();
}

int main(void) {
    for (int i = 0; i < 4; i++)
        calls(i & 1, i & 2);
    return 0;
}
