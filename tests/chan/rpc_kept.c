// SPDX-License-Identifier: BSD-2-Clause
// An end keeps requests in memory where both sides would otherwise sleep for ever: hardly any where the other side only
// asks, and takes its answers late; not more than there may be, whatever the other side sends; and none is lost. Looks into
// the room.
#include <fin.h>

#include "chan/bell.h"
#include "chan/rpc.h"

#include "chan.h"
#include "cont/memory.h"

enum { REQUESTS = 2000, FEW = 200, TOO_MANY = FIN_RPC_MOST + 500 };

static struct fin_rpc *caller, *server;
static bool starving; // there is no memory
static unsigned most_kept, served;
static ssize_t ended; // why the server did
static size_t answered; // bytes

static void look(void) { most_kept = server->keeps > most_kept ? server->keeps : most_kept; }

static FIN_BLOCKING void serves(void *unused) {
    char answer[1000] = {0};
    uint32_t id, x;
    (void)unused;
    ssize_t n = fin_rpc_accept(server, &x, sizeof x, &id);
    while (n >= 0) {
        CHECK_EQ(n, sizeof x);
        CHECK_EQ(x, served);
        served++;
        look();
        n = fin_rpc_reply(server, id, answer, answered);
        if (n == 0)
            n = fin_rpc_accept(server, &x, sizeof x, &id);
    }
    CHECK(n == -ECANCELED || n == -ESHUTDOWN || (starving && n == -ENOMEM));
    ended = n;
}

static FIN_BLOCKING void ask_all(void) {
    static uint32_t ids[REQUESTS];
    char answer[1000];
    for (uint32_t i = 0; i < REQUESTS; i++)
        CHECK_EQ(fin_rpc_send(caller, &i, sizeof i, &ids[i]), 0);
    for (uint32_t i = 0; i < REQUESTS; i++)
        CHECK_EQ(fin_rpc_recv(caller, ids[i], answer, sizeof answer), answered);
}

static void one_asks(enum kind kind, bool beside, size_t size) {
    struct fin_thread_handle t;
    served = most_kept = 0;
    answered = size;
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_rpc_open(&caller, a, FIN_RPC_CLIENT), 0);
    CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
    if (beside) {
        CHECK_EQ(fin_thread_start(&t, serves, NULL), 0);
        ask_all();
        CHECK_EQ(fin_rpc_close(caller), 0);
        fin_thread_join_nc(&t);
        CHECK_EQ(fin_rpc_close(server), 0);
    } else {
        fin_finish_as(all) {
            fin_async_call(serves, NULL);
            ask_all();
            fin_cancel_as(all);
        }
        CHECK_EQ(fin_rpc_close(caller), 0);
        CHECK_EQ(fin_rpc_close(server), 0);
    }
    CHECK_EQ(served, REQUESTS);
    CHECK(most_kept <= FEW); // where one has been woken for less room than it needs
}

// ---- the other end sends what it likes: a number behind the word of a request, or of an answer

struct message {
    uint32_t kind, id, number;
};

static uint32_t asked_us; // the id of the server's own call

static FIN_BLOCKING void sends_too_many(void *unused) {
    (void)unused;
    for (uint32_t i = 0; i < TOO_MANY; i++) {
        struct message m = {RPC_REQUEST, i % FIN_RPC_MOST + FIN_RPC_MOST, i};
        int error = fin_chan_send(a, &m, 12);
        CHECK(error == 0 || error == -ECANCELED || (starving && error == -EPIPE));
        if (error != 0)
            break;
    }
}

static FIN_BLOCKING void asks(void *unused) {
    char c = 1;
    (void)unused;
    ssize_t n = fin_rpc_call(server, &c, 1, &c, 1);
    CHECK(n == 1 || n == -ECANCELED || (starving && n == -ENOMEM));
}

static FIN_BLOCKING void take_answers(void) {
    char bytes[1024];
    for (unsigned n = 0; n < TOO_MANY;) {
        CHECK(fin_chan_recv(a, bytes, sizeof bytes) > 0);
        struct message m;
        memcpy(&m, bytes, 8);
        n += m.kind == RPC_ANSWER;
        asked_us = m.kind == RPC_REQUEST ? m.id : asked_us;
    }
}

static void open_to_stranger(void) {
    served = most_kept = 0;
    ended = 0;
    answered = 1000;
    open_kind(PAIR, 4096, 0);
    CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
}

static void close_to_stranger(void) {
    CHECK_EQ(fin_rpc_close(server), 0);
    CHECK_EQ(fin_chan_close(a), 0);
}

static void look_again(int times) {
    for (; times > 0; times--) {
        fin_event_advance(&b->out.ump.meeting->room, 1);
        for (int i = 0; i < 10; i++)
            fin_yield();
    }
}

// It has the server look again and again, though there is no room. Requests are taken by who waits for an answer, too, which
// comes last; or the server closes its end.
static void too_many(bool takes_answers) {
    open_to_stranger();
    fin_finish_as(all) {
        fin_async_call(asks, NULL);
        fin_async_call(serves, NULL);
        fin_async_call(sends_too_many, NULL);
        while (server->keeps < FIN_RPC_MOST)
            look_again(1);
        look_again(20);
        CHECK_EQ(server->keeps, FIN_RPC_MOST);
        if (takes_answers) {
            take_answers();
            CHECK_EQ(served, TOO_MANY);
            struct message m = {RPC_ANSWER, asked_us, 0};
            CHECK_EQ(fin_chan_send(a, &m, 9), 0);
            while (server->first && server->first->next)
                CHECK_EQ(fin_sleep(FIN_MS), 0);
        }
        fin_cancel_as(all);
    }
    close_to_stranger();
}

static void take_all_memory(void) {
    void *volatile taken; // or a compiler leaves out the calls
    do
        taken = malloc(64);
    while (taken);
}

// Whoever is to keep a request says so: who waits for room; or who reads, and then the end is of no use any more.
static void no_memory(void) {
    starving = true;
    open_to_stranger();
    fin_finish_as(all) {
        fin_async_call(asks, NULL);
        fin_async_call(serves, NULL);
        fin_async_call(sends_too_many, NULL);
        while (server->keeps == 0)
            look_again(1);
        limit_memory();
        take_all_memory();
        while (ended == 0)
            look_again(1);
        unlimit_memory();
        CHECK_EQ(ended, -ENOMEM);
        fin_cancel_as(all);
    }
    close_to_stranger();
}

int main(void) {
    alarm(50);
    for (enum kind kind = 0; kind < KINDS; kind++)
        for (int beside = 0; beside < (kind == LOCAL ? 1 : 2); beside++) {
            one_asks(kind, beside, 8);
            one_asks(kind, beside, 1000);
        }
    too_many(true);
    too_many(false);
    if (!FIN_SANITIZED && !on_valgrind())
        no_memory();
    return 0;
}
