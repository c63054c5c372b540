// SPDX-License-Identifier: BSD-2-Clause
// The child of a fork closes its copies of the ends, as destructors do at its exit: the parent's go on, and nobody is told
// that they are closed.
#include "rpc.h"

static void closes_both(void *unused) {
    (void)unused;
    close_both();
}

static void closes_rpc(void *unused) {
    (void)unused;
    close_rpc();
}

static void pass(struct fin_chan *from, struct fin_chan *to, unsigned number) {
    unsigned word;
    CHECK_EQ(fin_chan_send(from, &number, sizeof number), 0);
    CHECK_EQ(fin_chan_recv(to, &word, sizeof word), sizeof word);
    CHECK_EQ(word, number);
}

static void channel(enum kind kind) {
    open_kind(kind, 4096, 0);
    pass(a, b, 1);
    CHECK_EQ(fin_chan_send(b, "sent before", 11), 0);
    in_a_child(closes_both, NULL);
    char text[11];
    CHECK_EQ(fin_chan_recv(a, text, sizeof text), 11);
    for (unsigned i = 0; i < 1000; i++) {
        pass(a, b, i);
        pass(b, a, i);
    }
    close_both();
}

enum { WORDS = 20 }; // some lines

static bool request(uint32_t id) {
    uint64_t m[WORDS] = {(uint64_t)id << 32 | 1};
    for (unsigned i = 1; i < WORDS; i++)
        m[i] = id;
    return fin_chan_try_send(a, m, sizeof m) == 0;
}

// The child gives up the request at the head: its lines are not free for that.
static void calls(enum kind kind) {
    uint32_t last = 0, id, step = getenv("FIN_FEW") ? 5 : 1;
    uint64_t m[WORDS];
    open_rpc(kind);
    while (request(last + 1))
        last++;
    for (unsigned n = 1; n <= 2 * last; n++) {
        CHECK_EQ(fin_rpc_poll(server, m, 0, &id), -EMSGSIZE);
        if (n % step == 0)
            in_a_child(closes_rpc, NULL);
        for (uint32_t more = last + n; request(more); more++)
            continue;
        CHECK_EQ(fin_rpc_poll(server, m, sizeof m, &id), sizeof m - sizeof m[0]);
        for (unsigned i = 0; i < WORDS - 1; i++)
            CHECK_EQ(m[i], id);
        CHECK(n > last || id == n);
    }
    close_rpc();
}

int main(void) {
    alarm(60);
    for (enum kind kind = LOCAL; kind < KINDS; kind++) {
        channel(kind);
        calls(kind);
    }
    return 0;
}
