// SPDX-License-Identifier: BSD-2-Clause
// What two files of a program do, one of them compiled without exceptions.
#ifndef FIN_TESTS_EITHER_WAY_HPP
#define FIN_TESTS_EITHER_WAY_HPP

#include <functional>

#include <fin/co_all.hpp>

using may_fail = void (*)();

static void called(void *f) { (*static_cast<may_fail *>(f))(); }

static void in_check(may_fail f) { fin::check(f ? -ENOENT : 0); }
static void in_call(may_fail f) {
    fin_finish { fin_async_call(called, &f); }
}
static void in_call_eager(may_fail f) {
    fin_finish { fin_async_eager_call(called, &f); }
}
static void in_scope(may_fail f) {
    fin::finish([&](fin::scope &s) { s.async(std::function<void()>(f)); });
}
static void in_pool(may_fail f) { fin::offload(*f); }

static fin::task<> waits(may_fail f) {
    co_await fin::co::sleep(1);
    f();
}
static void in_task(may_fail f) {
    fin::finish([&](fin::scope &s) { s.async(waits(f)); });
}

static fin::task<> offloads(may_fail f) { co_await fin::co::offload(*f); }
static void in_pool_for_task(may_fail f) {
    fin::finish([&](fin::scope &s) { s.async(offloads(f)); });
}

static void in_all(may_fail f) { fin::finish(fin::co::when_all(waits(f), offloads(+[] {}))); }
static void in_any(may_fail f) { fin::finish(fin::co::when_any(waits(f))); }

static fin::task<> opens(may_fail f) {
    fin::co::finish block;
    block.async(waits(f));
    co_await block.end();
}
static void in_opened(may_fail f) {
    fin::finish([&](fin::scope &s) { s.async(opens(f)); });
}

static fin::next step(may_fail &f, int result) {
    if (result == 0)
        f();
    return fin::end();
}
static void in_step(may_fail f) {
    fin::finish([&](fin::scope &s) { s.async_cont<step>(f); });
}

// What leaves these ends the program.
static void in_handler(may_fail f) {
    fin::waitset set;
    fin::waitset_source source(set, f);
    source.trigger();
    fin::check(set.dispatch());
}
static void in_served(may_fail f) {
    auto ends = fin::chan::pair();
    fin::rpc client(std::move(ends.first), FIN_RPC_CLIENT), server(std::move(ends.second));
    fin::finish([&](fin::scope &s) {
        s.async([&] {
            server.serve<int>([f](const int &x) {
                f();
                return x;
            });
        });
        int x;
        fin::check(client.call(1, x));
        client = fin::rpc();
    });
}

static void (*const all_ways[])(may_fail) = {in_check, in_call, in_call_eager, in_scope, in_pool, in_pool_for_task,
                                             in_task,  in_all,  in_any,        in_opened, in_step};

#endif
