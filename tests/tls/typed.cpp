// SPDX-License-Identifier: BSD-2-Clause
// Reading from C++ steps, functions and closures, which wait by what they return.
#include <mutex>

#include <fin.hpp>

#include "pair.h"

static pair p;
static fin::mutex lock;

struct conversation {
    fin_tls *t;
    fin_more_on on;
    char buffer[64];
    int got;
};

static fin::next reads(conversation *&c, int n) {
    std::lock_guard hold(lock); // unlocked before it waits
    if (n <= 0) {
        LOG("%d ", n);
        return fin::end();
    }
    LOG("%.*s ", n, c->buffer);
    c->got += n;
    return fin::wait_on<reads, fin_tls_read_on>(c, c->t, c->buffer, sizeof c->buffer, &c->on);
}

static fin::next begins(conversation *&c, int) {
    return fin::wait_on<reads, fin_tls_read_on>(c, c->t, c->buffer, sizeof c->buffer, &c->on);
}

static void with_functions() {
    conversation c = {p.server, {}, {}, 0};
    fin::finish([&](fin::scope &s) {
        s.async_cont<begins>(&c);
        CHECK_EQ(fin_tls_write(p.client, "one", 3), 3);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_tls_write(p.client, "two", 3), 3);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        s.cancel();
    });
    CHECK_LOG("one two -125 ");
    CHECK_EQ(c.got, 6);
}

static void with_a_closure() {
    static conversation c;
    c = {p.server, {}, {}, 0};
    fin::finish([&](fin::scope &s) {
        s.async_cont([at = &c](int) {
            auto ends = [at](int n) {
                at->got = n;
                return fin::end();
            };
            return fin::wait_on<fin_tls_read_on>(ends, at->t, at->buffer, sizeof at->buffer, &at->on);
        });
        CHECK_EQ(fin_tls_write(p.client, "three", 5), 5);
    });
    CHECK_EQ(c.got, 5);
}

int main() {
    pair_open(&p, true, 0);
    pair_connect(&p);
    with_functions();
    with_a_closure();
    pair_close(&p);
}
