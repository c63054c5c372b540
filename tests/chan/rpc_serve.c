// SPDX-License-Identifier: BSD-2-Clause
// The dispatch loop: each request in an async of its own, so a slow one delays none behind it. Both sides serve and call at
// once, and a handler calls back. The loop ends when the other side closes, after its handlers.
#include "rpc.h"

static unsigned slow_ones, quick_ones;
static struct fin_event quick_are_done;

static void handle(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *depth) {
    uint64_t x[200];
    CHECK(size == 8 || size == sizeof x);
    memcpy(x, request, size);
    if (x[0] == 1000) {
        CHECK_EQ(fin_event_await(&quick_are_done, 1), 0);
        slow_ones++;
    } else if (x[0] < 1000 && x[0] > 0 && depth) { // back to the caller, who has to answer meanwhile
        uint64_t down = x[0] - 1, sum = 0;
        CHECK_EQ(fin_rpc_call(r, &down, sizeof down, &sum, sizeof sum), sizeof sum);
        x[0] += sum;
    }
    CHECK_EQ(fin_rpc_reply(r, id, x, size), caller ? 0 : -EPIPE);
}

static uint64_t to_sum(struct fin_rpc *r, uint64_t x) {
    uint64_t sum = 0;
    CHECK_EQ(fin_rpc_call(r, &x, sizeof x, &sum, sizeof sum), sizeof sum);
    return sum;
}

static void both_ways(enum kind kind) {
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_rpc_open(&caller, a, 0), 0);
    CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
    fin_finish_as(all) {
        fin_async { CHECK_EQ(fin_rpc_serve(server, handle, &slow_ones), -ECANCELED); };
        fin_async { CHECK_EQ(fin_rpc_serve(caller, handle, &slow_ones), -ECANCELED); };
        fin_finish {
            for (int i = 0; i < 10; i++) {
                fin_async { CHECK_EQ(to_sum(caller, 20), 210); };
                fin_async { CHECK_EQ(to_sum(server, 30), 465); };
            }
        }
        fin_cancel_as(all);
    }
    close_rpc();
}

static void slow_and_quick(void) {
    slow_ones = quick_ones = 0;
    fin_event_init(&quick_are_done);
    fin_finish {
        fin_async { CHECK_EQ(to_sum(caller, 1000), 1000); };
        fin_async {
            uint64_t x[200] = {1000}, y[200]; // one that is too long for its async's stack
            CHECK_EQ(fin_rpc_call(caller, x, sizeof x, y, sizeof y), sizeof y);
            CHECK(memcmp(x, y, sizeof x) == 0);
        };
        for (quick_ones = 0; quick_ones < 50; quick_ones++)
            CHECK_EQ(to_sum(caller, 2000 + quick_ones), 2000 + quick_ones);
        CHECK_EQ(slow_ones, 0);
        fin_event_advance(&quick_are_done, 1);
    }
    CHECK_EQ(slow_ones, 2);
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        both_ways(kind);
        open_rpc(kind);
        fin_shared int ended = 0;
        fin_finish {
            fin_async {
                CHECK_EQ(fin_rpc_serve(server, handle, NULL), -ESHUTDOWN);
                CHECK_EQ(slow_ones, 3);
                ended = 1;
            };
            slow_and_quick();
            uint64_t x = 1000;
            uint32_t id;
            CHECK_EQ(fin_rpc_send(caller, &x, sizeof x, &id), 0);
            CHECK_EQ(fin_rpc_close(caller), 0); // its handler has not begun yet
            caller = NULL;
        }
        CHECK_EQ(ended, 1);
        CHECK_EQ(fin_rpc_close(server), 0);
    }
    return 0;
}
