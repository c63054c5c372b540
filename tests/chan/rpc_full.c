// SPDX-License-Identifier: BSD-2-Clause
// A server that replies to one request at a time, and answers larger than requests. Those of calls that were given up fill
// the channel, and the server waits for room, while the next request does not fit: its caller takes them, and goes on. So
// does a client that sends many requests before it receives an answer. With and without stacks.
#include <fin/rpc_on.h>

#include "rpc.h"

enum { GIVEN_UP = 55, SENT = 200 }; // nearly as many requests as a ring holds; more than two
enum { LINES = 1024, SENT_LINES = 3 * LINES };

static char large[1900], answer[1000];
static size_t answered; // bytes, of each answer

static void serves(void *unused) {
    char request[sizeof large], reply[sizeof answer] = {0};
    uint32_t id;
    (void)unused;
    ssize_t n = fin_rpc_accept(server, request, sizeof request, &id);
    while (n >= 0)
        n = fin_rpc_reply_accept(server, reply, answered, request, sizeof request, &id);
    CHECK(n == -ESHUTDOWN || n == -ECANCELED);
}

static void give_up(void) {
    uint32_t id;
    CHECK_EQ(fin_rpc_send(caller, large, 8, &id), 0);
    CHECK_EQ(fin_rpc_forget(caller, id), 0);
}

static void calls(void *unused) {
    (void)unused;
    CHECK_EQ(fin_rpc_call(caller, large, sizeof large, answer, sizeof answer), sizeof answer);
}

static struct fin_rpc_on on;

static void has_called(void *unused, int n) {
    (void)unused;
    CHECK_EQ(n, sizeof answer);
    fin_cont_end();
}

static void calls_without_stack(void *unused) {
    (void)unused;
    fin_rpc_call_on(caller, large, sizeof large, answer, sizeof answer, &on, has_called, NULL, 0);
    CHECK(!"ended by its continuation");
}

static void after_all(void (*how)(void *)) {
    fin_finish {
        fin_async_call(how, NULL);
    }
    CHECK_EQ(fin_rpc_strays(caller), GIVEN_UP);
}

static void send_many(int count, size_t size) {
    static uint32_t ids[SENT_LINES];
    for (int i = 0; i < count; i++)
        CHECK_EQ(fin_rpc_send(caller, large, size, &ids[i]), 0);
    for (int i = 0; i < count; i++)
        CHECK_EQ(fin_rpc_recv(caller, ids[i], answer, sizeof answer), answered);
}

// The server in this thread, beside its client, or in another.
static void scene(enum kind kind, bool beside, void (*how)(void *)) {
    struct fin_thread_handle t;
    answered = sizeof answer;
    open_rpc(kind);
    for (int i = 0; i < GIVEN_UP; i++)
        give_up();
    fin_finish_as(all) {
        if (beside)
            CHECK_EQ(fin_thread_start(&t, serves, NULL), 0);
        else
            fin_async_call(serves, NULL);
        after_all(how);
        send_many(SENT, 100);
        if (beside) {
            CHECK_EQ(fin_rpc_close(caller), 0);
            fin_thread_join_nc(&t);
            CHECK_EQ(fin_rpc_close(server), 0);
        } else {
            fin_cancel_as(all);
        }
    }
    if (!beside)
        close_rpc();
}

// Of messages of one line more fit than are taken at a time: the server is to hear of the room that they leave.
static void in_lines(enum kind kind) {
    answered = 8;
    open_kind(kind, LINES * 64, 0);
    CHECK_EQ(fin_rpc_open(&caller, a, FIN_RPC_CLIENT), 0);
    CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
    fin_finish_as(all) {
        fin_async_call(serves, NULL);
        send_many(SENT_LINES, 8);
        fin_cancel_as(all);
    }
    close_rpc();
}

int main(void) {
    alarm(50);
    for (enum kind kind = 0; kind < KINDS; kind++)
        in_lines(kind);
    for (enum kind kind = 0; kind < KINDS; kind++)
        for (int beside = 0; beside < (kind == LOCAL ? 1 : 2); beside++) {
            scene(kind, beside, calls);
            scene(kind, beside, calls_without_stack);
        }
    return 0;
}
