// SPDX-License-Identifier: BSD-2-Clause
// A call without a stack, on each kind of channel, while AWEs without stacks wait for it; on one thread the first of them is
// given the caller's stack, and runs at once. A request for which it has no room stays for another; who waits behind it
// reads on; its state has any size; or a dispatch loop waits.
#include "rpc.h"

enum { SERVERS = 3, SHORT = 4, LONG = FIN_RPC_LINE };

static struct asked {
    struct fin_rpc_on on;
    char in[LONG];
    size_t room;
    uint32_t id;
    int left;    // requests
    int refused; // that were too long
} of[SERVERS];

static struct fin_rpc_on calling, serving;
static char request[LONG], reply_text[LONG];
static size_t size;
static int got;

static void again(struct asked *s);

static void has_request(void *state, int n) {
    struct asked *s = *(struct asked **)state;
    if (n == -EMSGSIZE) {
        s->refused++;
        fin_cont_end();
    }
    if (n == -ECANCELED)
        fin_cont_end();
    LOG("%d ", (int)(s - of));
    CHECK_EQ(n, (int)size);
    CHECK_EQ(memcmp(s->in, request, size), 0);
    CHECK_EQ(fin_rpc_reply(server, s->id, s->in, (size_t)n), 0);
    if (--s->left == 0)
        fin_cont_end();
    again(s);
}

// With a state that is no whole number of words it waits in another way.
static void has_request_of(void *number, int n) {
    struct asked *s = &of[*(unsigned char *)number];
    has_request(&s, n);
}

static void again(struct asked *s) {
    fin_rpc_accept_on(server, s->in, s->room, &s->id, &s->on, has_request, &s, sizeof s);
    CHECK(false);
}

static void begin(void *state, int result) {
    CHECK_EQ(result, 0);
    again(*(struct asked **)state);
}

static void begin_oddly(void *state, int result) {
    struct asked *s = *(struct asked **)state;
    unsigned char number = (unsigned char)(s - of);
    CHECK_EQ(result, 0);
    fin_rpc_accept_on(server, s->in, s->room, &s->id, &s->on, has_request_of, &number, sizeof number);
    CHECK(false);
}

static void has_answer(void *state, int n) {
    (void)state;
    got = n;
    CHECK_EQ(memcmp(reply_text, request, size), 0);
    fin_cont_end();
}

static void calls(void *state, int result) {
    (void)result;
    fin_rpc_call_on(caller, request, size, reply_text, sizeof reply_text, &calling, has_answer, state, 0);
    CHECK(false);
}

// The first wait of an AWE has more to do than the next ones.
static void waits_before(void *state, int result) {
    static struct fin_on on;
    CHECK_EQ(result, 0);
    fin_sleep_on(&on, 1, calls, state, 0);
    CHECK(false);
}

static FIN_BLOCKING void call(size_t length) {
    size = length;
    for (size_t i = 0; i < length; i++)
        request[i] = (char)(request[i] + 3 * i + 1);
    got = -1;
    fin_finish {
        CHECK(fin_async_cont(waits_before, NULL, 0) != NULL);
    }
    CHECK_EQ(got, (int)length);
}

static struct asked *prepared(int i, size_t room, int left) {
    struct asked *s = &of[i];
    s->room = room;
    s->left = left;
    s->refused = 0;
    return s;
}

#define START(i, room, left, cont)                                                                                          \
    do {                                                                                                                    \
        struct asked *s_ = prepared(i, room, left);                                                                         \
        CHECK(fin_async_cont(cont, &s_, sizeof s_) != NULL);                                                                \
        fin_yield();                                                                                                        \
    } while (0)

static void several(enum kind kind) {
    open_rpc(kind);
    fin_finish {
        for (int i = 0; i < SERVERS; i++)
            START(i, LONG, i == 0 ? 1 : 2, begin);
        for (int i = 0; i < 5; i++)
            call((size_t)(i * 9));
    }
    close_rpc();
}

static void too_long(enum kind kind) {
    open_rpc(kind);
    fin_finish {
        START(0, SHORT, 10, begin);
        call(SHORT);
        START(1, LONG, 1, begin);
        call(SHORT + 1);
        CHECK_EQ(of[0].refused + of[1].refused, 1);
    }
    close_rpc();
}

static void odd_state(enum kind kind) {
    open_rpc(kind);
    fin_finish_as(all) {
        for (int i = 0; i < SERVERS; i++) {
            START(0, LONG, 2, begin_oddly);
            call(LONG);
            call(1);
        }
        fin_cancel_as(all);
    }
    close_rpc();
}

static void work(struct fin_rpc *r, uint32_t id, void *bytes, size_t n, void *unused) {
    (void)unused;
    CHECK_EQ(fin_rpc_reply(r, id, bytes, n), 0);
}

static void served(void *state, int n) {
    (void)state;
    CHECK_EQ(n, -ECANCELED);
    fin_cont_end();
}

static void serves(void *state, int result) {
    (void)result;
    fin_rpc_serve_on(server, work, NULL, &serving, served, state, 0);
    CHECK(false);
}

static void by_loop(enum kind kind) {
    open_rpc(kind);
    fin_finish_as(all) {
        CHECK(fin_async_cont(serves, NULL, 0) != NULL);
        fin_yield();
        for (size_t i = 0; i <= LONG; i++)
            call(i);
        fin_cancel_as(all);
    }
    close_rpc();
}

static void logs(void *state, int result) {
    (void)state, (void)result;
    LOG("other ");
    fin_cont_end();
}

static void calls_before_others(void *state, int n) {
    CHECK_EQ(n, 8);
    check_log[0] = 0;
    CHECK(fin_async_cont_beside(logs, NULL, 0) != NULL);
    calls(state, 0);
}

static void calls_twice(void *state, int result) {
    (void)result;
    fin_rpc_call_on(caller, request, size, reply_text, sizeof reply_text, &calling, calls_before_others, state, 0);
}

// (Where a sanitizer follows each switch the stack is not given.)
static void at_once(void) {
    open_rpc(LOCAL);
    size = 8;
    fin_finish {
        START(0, LONG, 2, begin);
        CHECK(fin_async_cont(calls_twice, NULL, 0) != NULL);
    }
    CHECK_EQ(got, 8);
#if !FIN_SANITIZED
    CHECK_LOG("0 other ");
#endif
    close_rpc();
}

int main(void) {
    alarm(60);
    for (enum kind kind = 0; kind < KINDS; kind++) {
        several(kind);
        too_long(kind);
        odd_state(kind);
        by_loop(kind);
    }
    at_once();
    return 0;
}
