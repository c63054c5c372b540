// SPDX-License-Identifier: BSD-2-Clause
// An end that calls and serves: a caller without a stack reads for all who wait there, and what comes first is a request.
// Who waits for requests gets it, with a stack and without, and may answer it while the caller waits on.
#include "rpc.h"

static struct fin_rpc *near, *far;
static struct fin_rpc_on calling, accepting;
static uint64_t x, y, request;
static uint32_t id;
static int called, accepted;

static void has_answer(void *state, int n) {
    (void)state;
    called = n;
    fin_cont_end();
}

static void calls(void *unused) {
    (void)unused;
    x = 3;
    fin_rpc_call_on(near, &x, sizeof x, &y, sizeof y, &calling, has_answer, NULL, 0);
}

static void has_request(void *state, int n) {
    (void)state;
    accepted = n;
    fin_cont_end();
}

static void accepts_without(void *unused) {
    (void)unused;
    fin_rpc_accept_on(near, &request, sizeof request, &id, &accepting, has_request, NULL, 0);
}

static void accepts_with(void *unused) {
    (void)unused;
    accepted = (int)fin_rpc_accept(near, &request, sizeof request, &id);
}

static void answers(struct fin_rpc *r, uint32_t to, uint64_t of) {
    uint64_t answer = answer_to(of);
    CHECK_EQ(fin_rpc_reply(r, to, &answer, sizeof answer), 0);
}

static void both(enum kind kind, void (*accepts)(void *)) {
    uint64_t mine = 4, answer;
    uint32_t of_mine, of_theirs;
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_rpc_open(&near, a, 0), 0);
    CHECK_EQ(fin_rpc_open(&far, b, 0), 0);
    called = accepted = 0;
    fin_finish {
        fin_async_call(calls, NULL);
        fin_async_call(accepts, NULL);
        CHECK_EQ(fin_rpc_send(far, &mine, sizeof mine, &of_mine), 0);
        while (accepted == 0)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(accepted, sizeof request);
        CHECK_EQ(request, 4);
        CHECK_EQ(called, 0);
        answers(near, id, request);
        CHECK_EQ(fin_rpc_accept(far, &mine, sizeof mine, &of_theirs), sizeof mine);
        CHECK_EQ(fin_rpc_recv(far, of_mine, &answer, sizeof answer), sizeof answer);
        CHECK_EQ(answer, answer_to(4));
        answers(far, of_theirs, mine);
    }
    CHECK_EQ(called, sizeof y);
    CHECK_EQ(y, answer_to(3));
    CHECK_EQ(fin_rpc_close(near), 0);
    CHECK_EQ(fin_rpc_close(far), 0);
}

int main(void) {
    alarm(60);
    for (enum kind kind = 0; kind < KINDS; kind++) {
        both(kind, accepts_with);
        both(kind, accepts_without);
    }
    return 0;
}
