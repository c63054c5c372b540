// SPDX-License-Identifier: BSD-2-Clause
// RPC with a side that sends any messages: answers to any id or none, kinds that are none. Every call ends.
#define _GNU_SOURCE
#include <errno.h>

#include <fin.h>
#include <fin/rpc_on.h>

#include "fuzz.h"

static struct fin_chan *near, *far;
static struct fin_rpc *rpc;
static struct input in;
static uint32_t last;

static void send_raw(void) {
    unsigned char p[64];
    uint64_t how = number(&in, 1);
    uint32_t id = how & 1 ? last : (uint32_t)number(&in, 4);
    uint64_t word = (uint64_t)id << 32 | (how & 2 ? number(&in, 4) : 1 + (how >> 2) % 2);
    memcpy(p, &word, sizeof word);
    memset(p + sizeof word, 7, sizeof p - sizeof word);
    fin_chan_try_send(far, p, how & 0x80 ? number(&in, 1) % sizeof p : sizeof word + (how >> 3) % 40);
}

static struct fin_rpc_on on;
static unsigned char told[40 + GUARD];
static ssize_t came;
static bool client;

static void has_come(void *state, int n) {
    (void)state;
    came = n;
    fin_cont_end();
}

static void waits(void *state, int result) {
    static const uint64_t request;
    static uint32_t id;
    (void)result;
    if (client)
        fin_rpc_call_on(rpc, &request, sizeof request, told, 40, &on, has_come, NULL, 0);
    has_come(state, fin_rpc_accept_on(rpc, told, 40, &id, &on, has_come, NULL, 0));
}

static void without_stack(void) {
    came = -ECANCELED;
    guard(told, 40);
    fin_finish {
        CHECK(fin_async_cont(waits, NULL, 0) != NULL);
        send_raw();
        fin_yield();
        fin_cancel();
    }
    CHECK(came <= 40);
    guarded(told, 40);
}

static void step(void) {
    unsigned char p[40 + GUARD];
    ssize_t n = -ECANCELED;
    uint32_t id = 0;
    guard(p, 40);
    switch (number(&in, 1) % 8) {
    case 0:
    case 1:
        send_raw();
        return;
    case 2: {
        int r = -ECANCELED;
        fin_timeout(1) {
            r = fin_rpc_send(rpc, p, 8, &id);
        }
        last = r == 0 ? id : last;
        return;
    }
    case 3:
        n = fin_rpc_poll(rpc, p, 40, &id);
        break;
    case 4:
        fin_timeout(1) {
            n = fin_rpc_call(rpc, p, 8, p, 40);
        }
        break;
    case 5:
        without_stack();
        return;
    case 6:
        fin_timeout(1) {
            n = fin_rpc_accept(rpc, p, 40, &id);
        }
        if (n >= 0)
            fin_timeout(1) {
                if (number(&in, 1) % 2)
                    n = fin_rpc_reply_accept(rpc, p, (size_t)n, p, 40, &id);
                else
                    fin_rpc_reply(rpc, id, p, (size_t)n);
            }
        break;
    default:
        while (fin_chan_try_recv(far, p, 40) >= 0) {
        }
        return;
    }
    CHECK(n <= 40);
    guarded(p, 40);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    in = (struct input){data, data + size};
    last = 0;
    CHECK_EQ(fin_chan_pair(&near, &far, &(struct fin_chan_options){4096, size % 2 ? FIN_CHAN_LOCAL : 0}), 0);
    client = size % 3;
    CHECK_EQ(fin_rpc_open(&rpc, near, client ? FIN_RPC_CLIENT : 0), 0);
    fin_finish {
        for (int i = 0; i < 60 && in.at < in.end; i++)
            step();
    }
    CHECK_EQ(fin_rpc_close(rpc), 0);
    CHECK_EQ(fin_chan_close(far), 0);
    return 0;
}
