// SPDX-License-Identifier: BSD-2-Clause
// The other side sends whatever it likes over a sound channel: no word, no such kind, answers to any id or none, requests to
// a client, floods. What can only be a lie ends the end with -EPROTO for all who wait; the rest is dropped, and nobody else
// of the thread is kept from running.
#include "rpc.h"

static void send_raw(uint32_t id, uint32_t kind, const void *data, size_t size) {
    char p[300];
    uint64_t word = (uint64_t)id << 32 | kind;
    memcpy(p, &word, sizeof word);
    memcpy(p + sizeof word, data, size);
    int r = fin_chan_send(b, p, sizeof word + size);
    CHECK(r == 0 || r == -ECANCELED);
}

static void is_told(void *unused) {
    (void)unused;
    CHECK_EQ(ask(1), -EPROTO);
}

static void a_lie(enum kind kind, void (*lie)(void), unsigned flags) {
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_rpc_open(&caller, a, flags), 0);
    fin_finish {
        for (int i = 0; i < 3; i++)
            fin_async_call(is_told, NULL);
        fin_yield();
        lie();
    }
    uint64_t x;
    uint32_t id;
    CHECK_EQ(ask(1), -EPROTO);
    CHECK_EQ(fin_rpc_send(caller, &x, sizeof x, &id), -EPROTO);
    CHECK_EQ(fin_rpc_accept(caller, &x, sizeof x, &id), -EPROTO);
    CHECK_EQ(fin_rpc_poll(caller, &x, sizeof x, &id), -EPROTO);
    CHECK_EQ(fin_rpc_close(caller), 0);
    CHECK_EQ(fin_chan_close(b), 0);
}

static void nothing(void) { CHECK_EQ(fin_chan_send(b, "", 0), 0); }
static void half_a_word(void) { CHECK_EQ(fin_chan_send(b, "\2\0\0\0\1\0\0", 7), 0); }
static void no_kind(void) { send_raw(1, 0, "", 0); }
static void other_kind(void) { send_raw(1, 3, "", 0); }
static void large_kind(void) { send_raw(1, 0x102, "", 0); }
static void unwanted(void) { send_raw(1, 1, "x", 1); }

// A flood, with the ids of real calls among others; each call ends in a defined way, and others run.
static unsigned seed = 31;
static bool flooding;

static void flood(void *unused) {
    char bytes[290] = {0};
    (void)unused;
    while (flooding) {
        uint32_t id = next_random(&seed) % 4 ? FIN_RPC_MOST * (1 + next_random(&seed) % 3) + next_random(&seed) % 40
                                             : (uint32_t)next_random(&seed) * 977;
        send_raw(id, 2, bytes, next_random(&seed) % 4 ? 8 : next_random(&seed) % sizeof bytes);
    }
}

static void drain(void *unused) {
    char p[64];
    (void)unused;
    while (flooding) {
        ssize_t n = fin_chan_try_recv(b, p, sizeof p);
        CHECK(n >= 0 || n == -EAGAIN);
        fin_yield();
    }
}

static unsigned ended;

static void calls(void *unused) {
    (void)unused;
    for (unsigned k = 0; k < few(200); k++) {
        uint64_t x = 1;
        char y[20];
        ssize_t n = -ECANCELED;
        fin_timeout(FIN_MS) {
            n = fin_rpc_call(caller, &x, sizeof x, y, sizeof y);
        }
        CHECK((n >= 0 && n <= 20) || n == -EMSGSIZE || n == -ECANCELED || n == -ENOSPC);
        ended++;
    }
}

static void flooded(enum kind kind) {
    ended = 0;
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_rpc_open(&caller, a, FIN_RPC_CLIENT), 0);
    flooding = true;
    fin_finish {
        fin_async_call(drain, NULL);
        fin_async_call(flood, NULL);
        fin_finish {
            for (int i = 0; i < 10; i++)
                fin_async_call(calls, NULL);
        }
        flooding = false;
        char p[400];
        while (fin_rpc_poll(caller, p, sizeof p, &(uint32_t){0}) == 0) {
        }
        fin_cancel();
    }
    CHECK_EQ(ended, 10 * few(200));
    CHECK_EQ(fin_rpc_close(caller), 0);
    CHECK_EQ(fin_chan_close(b), 0);
}

// A client that reads no answer and sends on: what it can make us keep has a bound.
static struct fin_event never;
static unsigned at_work, sent;

static void keeps(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *arg) {
    (void)r, (void)id, (void)request, (void)size, (void)arg;
    at_work++;
    CHECK_EQ(fin_event_await(&never, 1), -ECANCELED);
}

static void too_many(enum kind kind) {
    at_work = sent = 0;
    fin_event_init(&never);
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_rpc_open(&server, a, 0), 0);
    fin_finish_as(all) {
        fin_async { CHECK_EQ(fin_rpc_serve(server, keeps, NULL), -ECANCELED); };
        fin_async {
            for (; sent < FIN_RPC_MOST + 2000; sent++)
                send_raw(sent, 1, "x", 1);
        };
        while (at_work < FIN_RPC_MOST)
            fin_yield();
        for (int i = 0; i < 100; i++)
            CHECK_EQ(fin_sleep_nc(FIN_US), 0);
        CHECK_EQ(at_work, FIN_RPC_MOST);
        CHECK(sent < FIN_RPC_MOST + 2000); // they wait in the channel
        fin_cancel_as(all);
    }
    CHECK_EQ(fin_rpc_close(server), 0);
    CHECK_EQ(fin_chan_close(b), 0);
}

int main(void) {
    void (*const lies[])(void) = {nothing, half_a_word, no_kind, other_kind, large_kind};
    for (enum kind kind = 0; kind < KINDS; kind++) {
        for (unsigned i = 0; i < sizeof lies / sizeof *lies; i++) {
            a_lie(kind, lies[i], 0);
            a_lie(kind, lies[i], FIN_RPC_CLIENT);
        }
        a_lie(kind, unwanted, FIN_RPC_CLIENT);
        flooded(kind);
        if (!getenv("FIN_FEW")) // thousands of stacks
            too_many(kind);
    }
    return 0;
}
