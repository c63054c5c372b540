// SPDX-License-Identifier: BSD-2-Clause
// Who waits for requests at an end stands before all that wait for answers, in the order of arrival, whoever comes and goes.
// So what is to be done when a request comes takes as long with thousands of calls under way as with none. Looks into the
// room.
#include <fin.h>

#include "chan/rpc.h"

#include "check.h"

enum { CALLS = 50, ACCEPTERS = 3 };

static struct fin_rpc *caller, *server;
static int served[ACCEPTERS], turns;
static uint32_t ids[CALLS];

static FIN_BLOCKING void call(void *unused) {
    char c = 1;
    (void)unused;
    CHECK_EQ(fin_rpc_call(caller, &c, 1, &c, 1), 1);
}

static FIN_BLOCKING void accept_one(void *turn) {
    uint32_t id;
    char c;
    CHECK_EQ(fin_rpc_accept(caller, &c, 1, &id), 1);
    *(int *)turn = ++turns;
    CHECK_EQ(fin_rpc_reply(caller, id, &c, 1), 0);
}

static void look(int accepters, int callers) {
    const struct waiting *w = caller->first;
    for (int i = 0; i < accepters + callers; i++, w = w->next) {
        CHECK(w);
        CHECK_EQ(w->id == 0, i < accepters);
    }
    CHECK(!w);
}

int main(void) {
    struct fin_chan *a, *b;
    char c = 1;
    CHECK_EQ(fin_chan_pair(&a, &b, NULL), 0);
    CHECK_EQ(fin_rpc_open(&caller, a, 0), 0);
    CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
    fin_finish {
        for (int i = 0; i < CALLS; i++) {
            fin_async_eager_call(call, NULL);
            CHECK_EQ(fin_rpc_accept(server, &c, 1, &ids[i]), 1);
            if (i % 20 == 0)
                fin_async_eager_call(accept_one, &served[i / 20]);
        }
        look(ACCEPTERS, CALLS);
        for (int i = 0; i < ACCEPTERS; i++) {
            CHECK_EQ(fin_rpc_call(server, &c, 1, &c, 1), 1);
            look(ACCEPTERS - 1 - i, CALLS);
        }
        for (int i = 0; i < CALLS; i++)
            CHECK_EQ(fin_rpc_reply(server, ids[i], &c, 1), 0);
    }
    for (int i = 0; i < ACCEPTERS; i++)
        CHECK_EQ(served[i], i + 1);
    CHECK(!caller->first && !caller->last && !caller->last_accepts);
    CHECK_EQ(fin_rpc_close(caller), 0);
    CHECK_EQ(fin_rpc_close(server), 0);
    return 0;
}
