// SPDX-License-Identifier: BSD-2-Clause
// A call over each kind of channel while somebody waits for it, who accepts or serves; between AWEs of one thread that one
// runs at once. Whatever then happens to the call while it waits ends it as ever: an answer, also one that is empty, as long
// as the room or too long; a cancel before the answer or after it; answers to other calls and to none; the end of the other
// side. A dispatch loop begins none of what comes after its block was cancelled.
#include "rpc.h"

enum { LONG = 300, CALLS = 40 };

static bool serves;
static enum how { ANSWERS, FORGETS, ANSWERS_AND_CANCELS, CANCELS, ANSWERS_WRONGLY } how;
static uint32_t last_id;
static size_t answer_size;
static unsigned begun;

static struct fin_event answered;

static void work(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *unused) {
    unsigned char p[LONG];
    (void)unused;
    CHECK(filled(request, size, (unsigned)size));
    last_id = id;
    begun++;
    LOG("work ");
    fill(p, answer_size, (unsigned)answer_size);
    if (how == ANSWERS_WRONGLY) {
        uint64_t before = fin_rpc_strays(caller);
        CHECK_EQ(fin_rpc_reply(r, 0, p, answer_size), 0);
        CHECK_EQ(fin_rpc_reply(r, id ^ 1, p, answer_size), 0);
        CHECK_EQ(fin_rpc_reply(r, id + FIN_RPC_MOST, p, answer_size), 0);
        fin_yield();
        CHECK(fin_rpc_strays(caller) <= before + 3);
    }
    if (how != FORGETS && how != CANCELS)
        CHECK_EQ(fin_rpc_reply(r, id, p, answer_size), 0);
    fin_event_advance(&answered, 1);
}

static void accepts(void *unused) {
    unsigned char p[LONG];
    ssize_t n;
    (void)unused;
    if (serves) {
        n = fin_rpc_serve(server, work, NULL);
    } else {
        while ((n = fin_rpc_accept(server, p, sizeof p, &last_id)) >= 0)
            work(server, last_id, p, (size_t)n, NULL);
    }
    CHECK(n == -ECANCELED || n == -ESHUTDOWN);
}

// `result` is what it is to return.
static FIN_BLOCKING void call(enum how what, size_t size, size_t answer, size_t room, ssize_t result) {
    static unsigned char p[LONG], q[LONG];
    uint64_t before = fin_event_read(&answered);
    how = what;
    answer_size = answer;
    fill(p, size, (unsigned)size);
    fin_shared ssize_t n = 1000;
    fin_finish_as(all) {
        fin_async { n = fin_rpc_call(caller, p, size, q, room); };
        CHECK_EQ(fin_event_await(&answered, before + 1), 0);
        if (what == CANCELS || what == ANSWERS_AND_CANCELS)
            fin_cancel_as(all);
    }
    CHECK(n == result || (what == ANSWERS_AND_CANCELS && n == -ECANCELED && result >= 0));
    CHECK(n < 0 || filled(q, (size_t)n, (unsigned)answer));
}

static void each_outcome(enum kind kind) {
    open_rpc(kind);
    fin_event_init(&answered);
    fin_finish_as(all) {
        fin_async_call(accepts, NULL);
        fin_yield();
        for (size_t size = 0; size <= LONG; size += size < FIN_RPC_LINE + 2 ? 1 : 50) {
            call(ANSWERS, size, LONG - size, LONG, (ssize_t)(LONG - size));
            call(ANSWERS, size, size, size, (ssize_t)size);
        }
        call(ANSWERS, 8, 9, 8, -EMSGSIZE);
        call(ANSWERS_AND_CANCELS, 8, 8, 8, 8);
        for (int i = 0; i < CALLS; i++) { // and the calls that are given up hold nothing up
            call(CANCELS, 8, 8, 8, -ECANCELED);
            CHECK_EQ(fin_rpc_reply(server, last_id, &last_id, sizeof last_id), 0);
        }
        call(ANSWERS_WRONGLY, 8, 8, 8, 8);
        call(ANSWERS, 8, 8, 8, 8);
        CHECK_EQ(fin_rpc_strays(caller), CALLS + 3);
        fin_cancel_as(all);
    }
    close_rpc();
}

// What is sent when the loop's block has been cancelled stays, and what was sent before and is not begun.
static void cancelled_loop(enum kind kind) {
    uint64_t x = 3;
    uint32_t id;
    open_rpc(kind);
    begun = 0;
    fin_finish_as(all) {
        fin_async_call(accepts, NULL);
        fin_yield();
        CHECK_EQ(fin_rpc_send(caller, &x, sizeof x, &id), 0);
        fin_cancel_as(all);
        CHECK_EQ(fin_rpc_send_nc(caller, &x, sizeof x, &id), 0);
    }
    CHECK_EQ(begun, 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(fin_rpc_accept(server, &x, sizeof x, &id), sizeof x);
        CHECK_EQ(x, 3);
    }
    close_rpc();
}

static void asks(void *result) { *(ssize_t *)result = fin_rpc_call(caller, NULL, 0, NULL, 0); }

static void ends(enum kind kind) {
    ssize_t n = 0;
    open_rpc(kind);
    fin_event_init(&answered);
    how = FORGETS;
    fin_finish {
        fin_finish_as(all) {
            fin_async_call(accepts, NULL);
            fin_yield();
            fin_async_call(asks, &n);
            CHECK_EQ(fin_event_await(&answered, 1), 0);
            fin_cancel_as(all);
        }
        CHECK_EQ(n, -ECANCELED);
        n = 0;
        fin_async_call(asks, &n);
        fin_yield();
        CHECK_EQ(fin_rpc_close(server), 0);
    }
    CHECK_EQ(n, -ESHUTDOWN);
    CHECK_EQ(fin_rpc_close(caller), 0);
}

// To who accepts at an end that only calls, and an answer to the id 0, which is nobody's.
static void requests_both_ways(void) {
    static uint64_t x = 1;
    static uint32_t id;
    fin_shared ssize_t n = 0;
    open_kind(LOCAL, 4096, 0);
    CHECK_EQ(fin_rpc_open(&caller, a, 0), 0);
    CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
    fin_finish_as(all) {
        fin_async { n = fin_rpc_accept(caller, &x, sizeof x, &id); };
        CHECK_EQ(fin_rpc_reply(server, 0, &x, sizeof x), 0);
        fin_yield();
        CHECK_EQ(fin_rpc_strays(caller), 1);
        CHECK_EQ(n, 0);
        fin_cancel_as(all);
    }
    CHECK_EQ(n, -ECANCELED);
    close_rpc();
}

// (Where a sanitizer follows each switch the processor is not handed over.)
static void at_once(void) {
    open_rpc(LOCAL);
    fin_event_init(&answered);
    how = ANSWERS;
    answer_size = 0;
    fin_finish_as(all) {
        fin_async_call(accepts, NULL);
        fin_yield();
        fin_finish {
            CHECK_EQ(fin_rpc_call(caller, NULL, 0, NULL, 0), 0); // the first wait of a block has more to do
            check_log[0] = 0;
            fin_async {
                fin_yield();
                LOG("other ");
            };
            CHECK_EQ(fin_rpc_call(caller, NULL, 0, NULL, 0), 0);
            LOG("answer");
        }
#if !FIN_SANITIZED
        CHECK_LOG("work other answer");
#endif
        fin_cancel_as(all);
    }
    close_rpc();
}

int main(void) {
    for (int i = 0; i < 2; i++, serves = true) {
        for (enum kind kind = 0; kind < KINDS; kind++) {
            each_outcome(kind);
            ends(kind);
        }
        at_once();
    }
    for (enum kind kind = 0; kind < KINDS; kind++)
        cancelled_loop(kind);
    requests_both_ways();
    return 0;
}
