// SPDX-License-Identifier: BSD-2-Clause
// Answers that nobody waits for: to no call, to an earlier one, twice, to one that was given up. They are dropped and
// counted; and an id is not used again before its answer has come.
#include "rpc.h"

static void answer(uint32_t id, uint64_t y) { CHECK_EQ(fin_rpc_reply(server, id, &y, sizeof y), 0); }

static uint32_t send_one(uint64_t x) {
    uint32_t id;
    CHECK_EQ(fin_rpc_send(caller, &x, sizeof x, &id), 0);
    CHECK(id != 0 && id < 1u << 30);
    return id;
}

// What there is has been read when a call that was answered last has its answer.
static void flush(void) {
    uint64_t x, y = 0;
    uint32_t id = send_one(1);
    CHECK_EQ(next_request(&x), id);
    answer(id, 77);
    CHECK_EQ(fin_rpc_recv(caller, id, &y, sizeof y), 8);
    CHECK_EQ(y, 77);
}

static void strays(void) {
    uint64_t x, y;
    uint32_t id = send_one(2);
    next_request(&x);
    answer(0, 1);
    answer(UINT32_MAX, 1);
    answer(id + FIN_RPC_MOST, 1);
    answer(id ^ 1, 1);
    answer(id ^ 0x80000000, 1);
    answer(id, 22);
    answer(id, 23);
    CHECK_EQ(fin_rpc_recv(caller, id, &y, sizeof y), 8);
    CHECK_EQ(y, 22);
    answer(id, 24);
    flush();
    CHECK_EQ(fin_rpc_strays(caller), 7);
    CHECK_EQ(fin_rpc_recv(caller, id, &y, sizeof y), -ESRCH);
    CHECK_EQ(fin_rpc_recv(caller, 0, &y, sizeof y), -ESRCH);
    CHECK_EQ(fin_rpc_forget(caller, id), -ESRCH);
}

static void given_up(void) {
    uint64_t x, y;
    uint32_t id = send_one(3);
    CHECK_EQ(fin_rpc_forget(caller, id), 0);
    CHECK_EQ(fin_rpc_forget(caller, id), -ESRCH);
    CHECK_EQ(fin_rpc_recv(caller, id, &y, sizeof y), -ESRCH);
    CHECK_EQ(next_request(&x), id);
    for (int i = 0; i < 100; i++)
        flush(); // uses all other indices several times
    uint64_t before = fin_rpc_strays(caller);
    answer(id, 5);
    flush();
    CHECK_EQ(fin_rpc_strays(caller), before + 1);
    id = send_one(4); // an answer that has come already, and is given up then
    CHECK_EQ(next_request(&x), id);
    answer(id, 5);
    flush();
    CHECK_EQ(fin_rpc_forget(caller, id), 0);
    CHECK_EQ(fin_rpc_recv(caller, id, &y, sizeof y), -ESRCH);
}

static void too_long(void) {
    uint64_t x;
    char bytes[600], got[600];
    uint32_t id = send_one(5);
    fill((unsigned char *)bytes, sizeof bytes, 1);
    CHECK_EQ(next_request(&x), id);
    CHECK_EQ(fin_rpc_reply(server, id, bytes, sizeof bytes), 0);
    CHECK_EQ(fin_rpc_recv(caller, id, got, sizeof got - 1), -EMSGSIZE);
    CHECK_EQ(fin_rpc_recv(caller, id, got, 1), -EMSGSIZE);
    CHECK_EQ(fin_rpc_recv(caller, id, got, sizeof got), sizeof got);
    CHECK(memcmp(bytes, got, sizeof got) == 0);
    CHECK_EQ(fin_rpc_send(caller, bytes, fin_rpc_most(caller) + 1, &id), -EMSGSIZE);
    CHECK_EQ(fin_rpc_call(caller, bytes, SIZE_MAX, got, sizeof got), -EMSGSIZE);
    CHECK_EQ(fin_rpc_reply(server, 1, bytes, SIZE_MAX - 3), -EMSGSIZE);
}

// An id comes late again, even where all others of the table are in use.
static void again(void) {
    uint32_t others[15], id = 0, first = 0;
    uint64_t x, y;
    for (int i = 0; i < 15; i++) {
        others[i] = send_one(7);
        CHECK_EQ(next_request(&x), others[i]);
    }
    for (int i = 0; i < 65000; i++) {
        id = send_one(8);
        CHECK(id != first);
        first = first ? first : id;
        CHECK_EQ(next_request(&x), id);
        answer(id, 9);
        CHECK_EQ(fin_rpc_recv(caller, id, &y, sizeof y), sizeof y);
    }
    CHECK_EQ(id % FIN_RPC_MOST, first % FIN_RPC_MOST);
    for (int i = 0; i < 15; i++) {
        answer(others[i], 9);
        CHECK_EQ(fin_rpc_recv(caller, others[i], &y, sizeof y), sizeof y);
    }
}

static void all_ids(void) {
    static uint32_t ids[FIN_RPC_MOST];
    uint64_t x, y = 0;
    uint32_t id;
    for (int i = 0; i < FIN_RPC_MOST; i++) {
        ids[i] = send_one((uint64_t)i);
        CHECK_EQ(next_request(&x), ids[i]);
        CHECK_EQ(fin_rpc_forget(caller, ids[i]), 0);
    }
    CHECK_EQ(fin_rpc_send(caller, &y, sizeof y, &id), -ENOSPC);
    CHECK_EQ(fin_rpc_call(caller, &y, sizeof y, &y, sizeof y), -ENOSPC);
    answer(ids[4711], 1);
    CHECK_EQ(fin_rpc_poll(caller, &y, sizeof y, &id), -EAGAIN);
    id = send_one(6);
    CHECK_EQ(id % FIN_RPC_MOST, ids[4711] % FIN_RPC_MOST);
    CHECK(id != ids[4711]);
    CHECK_EQ(next_request(&x), id);
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        open_rpc(kind);
        if (kind == LOCAL)
            again();
        strays();
        given_up();
        too_long();
        all_ids();
        close_rpc();
    }
    return 0;
}
