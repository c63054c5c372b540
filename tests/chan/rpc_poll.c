// SPDX-License-Identifier: BSD-2-Clause
// Requests by polling, from one end and from a group of them, in turns; answers go to their AWEs meanwhile. A request that
// nobody takes holds back what is behind it, and nothing else.
#include "rpc.h"

enum { ENDS = 4 };

static struct fin_rpc *near[ENDS], *far[ENDS];

static void open_group(enum kind kind) {
    for (int i = 0; i < ENDS; i++) {
        open_kind(kind, 4096, 0);
        CHECK_EQ(fin_rpc_open(&near[i], a, 0), 0);
        CHECK_EQ(fin_rpc_open(&far[i], b, 0), 0);
    }
}

static void request(int i, uint64_t x) {
    uint32_t id;
    CHECK_EQ(fin_rpc_send(far[i], &x, sizeof x, &id), 0);
    CHECK_EQ(fin_rpc_forget(far[i], id), 0);
}

static void turns(void) {
    unsigned which = 0;
    uint64_t x;
    uint32_t id;
    CHECK_EQ(fin_rpc_poll_group(near, 0, &which, &x, sizeof x, &id), -EAGAIN);
    CHECK_EQ(fin_rpc_poll_group(near, ENDS, &which, &x, sizeof x, &id), -EAGAIN);
    for (uint64_t round = 0; round < 10; round++)
        for (int i = 0; i < ENDS - 1; i++)
            request(i, round * 10 + (uint64_t)i);
    CHECK_EQ(fin_rpc_poll_group(near, ENDS, &which, &x, sizeof x - 1, &id), -EMSGSIZE);
    which = ENDS - 1;
    for (uint64_t n = 0; n < 30; n++) {
        CHECK_EQ(fin_rpc_poll_group(near, ENDS, &which, &x, sizeof x, &id), 8);
        CHECK_EQ(which, n % 3);
        CHECK_EQ(x, n / 3 * 10 + which);
    }
    CHECK_EQ(fin_rpc_poll_group(near, ENDS, &which, &x, sizeof x, &id), -EAGAIN);
}

// One that calls waits, while the other only polls; the answer is behind a request.
static void behind_a_request(void) {
    uint64_t x = 1;
    fin_shared uint64_t y = 0;
    uint32_t id;
    fin_shared int answered = 0;
    fin_finish {
        fin_async {
            CHECK_EQ(fin_rpc_call(near[0], &x, sizeof x, &y, sizeof y), 8);
            answered = 1;
        };
        uint64_t got, up = 5;
        CHECK_EQ(fin_rpc_accept(far[0], &got, sizeof got, &id), 8);
        request(0, 42);
        CHECK_EQ(fin_rpc_reply(far[0], id, &up, sizeof up), 0);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(answered, 0);
        ssize_t n;
        while ((n = fin_rpc_poll(near[0], &got, 1, &id)) == -EAGAIN) {
        }
        CHECK_EQ(n, -EMSGSIZE);
        CHECK_EQ(fin_rpc_poll(near[0], &got, sizeof got, &id), 8);
        CHECK_EQ(got, 42);
    }
    CHECK_EQ(answered, 1);
    CHECK_EQ(y, 5);
}

// Polling without a pause lets the AWE that reads see its answer.
static void beside_a_reader(void) {
    uint64_t x = 1, got, up = 6;
    fin_shared uint64_t y = 0;
    uint32_t id, none;
    fin_shared int answered = 0;
    fin_finish {
        fin_async {
            CHECK_EQ(fin_rpc_call(near[1], &x, sizeof x, &y, sizeof y), 8);
            answered = 1;
        };
        CHECK_EQ(fin_rpc_accept(far[1], &got, sizeof got, &id), 8);
        CHECK_EQ(fin_rpc_reply(far[1], id, &up, sizeof up), 0);
        while (!answered)
            CHECK_EQ(fin_rpc_poll(near[1], &got, sizeof got, &none), -EAGAIN);
    }
    CHECK_EQ(y, 6);
}

// While it lets that one run none of the group can be closed.
static void nobody_closes_one(void) {
    uint64_t request;
    uint32_t none;
    unsigned which = 0;
    fin_shared int tried = 0;
    fin_finish {
        fin_async {
            uint64_t x = 1, y;
            CHECK_EQ(fin_rpc_call(near[1], &x, sizeof x, &y, sizeof y), 8);
        };
        fin_async {
            uint64_t got;
            uint32_t id;
            CHECK_EQ(fin_rpc_accept(far[1], &got, sizeof got, &id), 8);
            while (!tried)
                fin_yield();
            CHECK_EQ(fin_rpc_reply(far[1], id, &got, sizeof got), 0);
        };
        fin_async {
            fin_yield(); // for the one that polls
            for (int i = 0; i < ENDS; i++)
                CHECK_EQ(fin_rpc_close(near[i]), -EBUSY);
            tried = 1;
        };
        CHECK_EQ(fin_rpc_poll_group(near, ENDS, &which, &request, sizeof request, &none), -EAGAIN);
    }
    CHECK_EQ(tried, 1);
}

// Who waits for requests gets them before whoever waits for an answer reads on.
static void waiting_for_both(void) {
    uint64_t x = 1, up = 7;
    fin_shared uint64_t y = 0;
    uint32_t id;
    fin_finish {
        fin_async { CHECK_EQ(fin_rpc_call(near[2], &x, sizeof x, &y, sizeof y), 8); };
        fin_async {
            for (uint64_t i = 0, got; i < 20; i++) {
                uint32_t from;
                CHECK_EQ(fin_rpc_accept(near[2], &got, sizeof got, &from), 8);
                CHECK_EQ(got, i);
            }
        };
        uint64_t got;
        CHECK_EQ(fin_rpc_accept(far[2], &got, sizeof got, &id), 8);
        for (uint64_t i = 0; i < 20; i++) {
            request(2, i);
            if (i == 9)
                CHECK_EQ(fin_rpc_reply(far[2], id, &up, sizeof up), 0);
            if (i % 3 == 0)
                fin_yield();
        }
    }
    CHECK_EQ(y, 7);
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        unsigned which = 0;
        uint64_t x;
        uint32_t id;
        open_group(kind);
        turns();
        behind_a_request();
        beside_a_reader();
        nobody_closes_one();
        waiting_for_both();
        request(3, 9); // at an end that closes then
        CHECK_EQ(fin_rpc_close(far[3]), 0);
        request(1, 8);
        CHECK_EQ(fin_rpc_poll_group(near, ENDS, &which, &x, sizeof x, &id), 8);
        CHECK_EQ(fin_rpc_poll_group(near, ENDS, &which, &x, sizeof x, &id), 8);
        ssize_t n;
        while ((n = fin_rpc_poll_group(near, ENDS, &which, &x, sizeof x, &id)) == -EAGAIN) {
        }
        CHECK_EQ(n, -ESHUTDOWN);
        CHECK_EQ(which, 3);
        request(0, 4);
        CHECK_EQ(fin_rpc_poll_group(near, ENDS, &which, &x, sizeof x, &id), 8);
        for (int i = 0; i < ENDS; i++) {
            CHECK_EQ(fin_rpc_close(near[i]), 0);
            if (i < 3)
                CHECK_EQ(fin_rpc_close(far[i]), 0);
        }
    }
    return 0;
}
