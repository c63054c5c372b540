// SPDX-License-Identifier: BSD-2-Clause
// Coroutines that read TLS: they wait without a stack, and are told what fin_tls_read would say.
#include <fin/coro.hpp>

#include "pair.h"

namespace co = fin::co;

static pair p;
static int ended;

static fin::task<int> reads_some(char *to, size_t size) {
    co_return co_await co::wait_on<fin_tls_read_on>(p.server, to, size);
}

static fin::task<> echoes() {
    char buffer[64];
    int n;
    while ((n = co_await reads_some(buffer, sizeof buffer)) > 0)
        CHECK_EQ(co_await co::with_stack([&]() FIN_BLOCKING { return fin_tls_write(p.server, buffer, size_t(n)); }), n);
    CHECK_EQ(n, 0);
    ended++;
}

static fin::task<> waits() {
    char c;
    CHECK_EQ(co_await co::wait_on<fin_tls_read_on>(p.server, &c, size_t(1)), -ECANCELED);
    ended++;
}

static fin::task<> comes_too_early() {
    char c;
    CHECK_EQ(co_await co::wait_on<fin_tls_read_on>(p.server, &c, size_t(1)), -ENOTCONN);
}

static uint64_t stacks() {
    struct fin_stats s;
    fin_stats(&s);
    return s.stacks_used;
}

int main() {
    char c;
    pair_open(&p, true, 0);
    fin::finish([](fin::scope &s) { s.async(comes_too_early()); });
    pair_connect(&p);
    fin::finish([](fin::scope &s) {
        s.async(waits());
        s.async(waits());
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(stacks(), 1);
        s.cancel();
    });
    CHECK_EQ(ended, 2);
    fin::finish([&](fin::scope &s) {
        s.async(echoes());
        for (char i = 'a'; i <= 'z'; i++) {
            CHECK_EQ(fin_tls_write(p.client, &i, 1), 1);
            CHECK_EQ(fin_tls_read(p.client, &c, 1), 1);
            CHECK_EQ(c, i);
        }
        CHECK_EQ(fin_tls_shutdown(p.client), 0);
    });
    CHECK_EQ(ended, 3);
    pair_close(&p);
}
