// SPDX-License-Identifier: BSD-2-Clause
// A coroutine begins several calls and takes their answers with co::recv, in another order. One that is cancelled can still
// be waited for; one that is unknown is refused.
#include <fin/coro.hpp>

#include "check.h"

namespace co = fin::co;

enum { CALLS = 10 };
static fin_rpc *client, *server;
static int ended;

static fin::task<> answers_backwards(int calls) {
    struct {
        uint32_t id;
        long x;
    } all[CALLS];
    for (int i = 0; i < calls; i++)
        CHECK_EQ(co_await co::accept(server, &all[i].x, sizeof all[i].x, all[i].id), sizeof all[i].x);
    for (int i = calls; i-- > 0;) {
        all[i].x *= 2;
        CHECK_EQ(fin_rpc_reply(server, all[i].id, &all[i].x, sizeof all[i].x), 0);
        co_await co::yield();
    }
    ended++;
}

static fin::task<> takes(uint32_t id, long expected) {
    long y = 0;
    CHECK_EQ(co_await co::recv(client, id, &y, sizeof y), sizeof y);
    CHECK_EQ(y, expected);
    ended++;
}

static fin::task<> asks() {
    uint32_t ids[CALLS];
    for (long i = 0; i < CALLS; i++)
        CHECK_EQ(fin_rpc_send(client, &i, sizeof i, &ids[i]), 0);
    for (long i = 0; i < CALLS; i++)
        co_await takes(ids[i], 2 * i);
    char small;
    CHECK_EQ(co_await co::recv(client, ids[0], &small, sizeof small), -ESRCH); // taken
    ended++;
}

static fin::task<> is_cancelled(uint32_t id) {
    long y = 0;
    CHECK_EQ(co_await co::recv(client, id, &y, sizeof y), -ECANCELED);
    CHECK_EQ(y, 0);
    ended++;
}

int main() {
    fin_chan *a, *b;
    CHECK_EQ(fin_chan_pair(&a, &b, nullptr), 0);
    CHECK_EQ(fin_rpc_open(&client, a, FIN_RPC_CLIENT), 0);
    CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
    fin_finish {
        fin_async_task(asks());
        fin_async_task(answers_backwards(CALLS));
    }
    CHECK_EQ(ended, 2 + CALLS);
    fin_finish { // at once, all of them
        fin_async_task(answers_backwards(CALLS));
        for (long i = 0; i < CALLS; i++) {
            uint32_t id;
            CHECK_EQ(fin_rpc_send(client, &i, sizeof i, &id), 0);
            fin_async_task(takes(id, 2 * i));
        }
    }
    CHECK_EQ(ended, 3 + 2 * CALLS);
    uint32_t id;
    long x = 21;
    for (bool before : {false, true})
        fin_finish {
            if (before)
                fin_cancel();
            else
                CHECK_EQ(fin_rpc_send(client, &x, sizeof x, &id), 0);
            fin_async_task(is_cancelled(id));
            fin_yield();
            fin_cancel();
        }
    fin_finish {
        fin_async_task(takes(id, 42));
        fin_async_task(answers_backwards(1));
    }
    CHECK_EQ(ended, 7 + 2 * CALLS);
    CHECK_EQ(fin_rpc_close(client), 0);
    CHECK_EQ(fin_rpc_close(server), 0);
    return 0;
}
