// SPDX-License-Identifier: BSD-2-Clause
// Coroutines and the classes of channels, waitsets and calls: objects are sent, received, called for and served, clients are
// accepted, and a cancel takes nothing away.
#include <string>

#include <unistd.h>

#include <fin/coro.hpp>

#include "check.h"

namespace co = fin::co;

namespace {

const std::string name = "@fin-test-coroutine-classes-" + std::to_string(getpid());
struct point {
    int x, y;
};
int ended, sum;

fin::task<> serves(fin::chan c) {
    point p;
    int error;
    while ((error = co_await co::recv(c, p)) == 0)
        CHECK_EQ(co_await co::send(c, p.x + p.y), 0);
    CHECK_EQ(error, -ESHUTDOWN);
    ended++;
}

fin::task<> accepts(fin::chan_listener &door) {
    fin::chan c;
    int error = co_await co::accept(door, c);
    CHECK_EQ(error, 0);
    co_await serves(std::move(c));
    error = co_await co::accept(door, c);
    CHECK_EQ(error, -ECANCELED);
    CHECK(!c);
    ended++;
}

fin::task<> asks() {
    fin::chan c(name);
    int three = 0, other = 0;
    CHECK_EQ(co_await co::send_recv(c, point{1, 2}, three), 0);
    CHECK_EQ(three, 3);
    CHECK_EQ(co_await co::send(c, point{3, 4}), 0);
    CHECK_EQ(co_await co::recv(c, &other, sizeof other), sizeof other);
    CHECK_EQ(other, 7);
    CHECK_EQ(co_await co::send(c, point{3, 4}), 0);
    point wrong;
    CHECK_EQ(co_await co::recv(c, wrong), -EBADMSG);
    ended++;
}

void channels() {
    fin::chan_listener door(name);
    ended = 0;
    fin::finish([&](fin::scope &all) {
        all.async(accepts(door));
        fin::finish([&](fin::scope &s) { s.async(asks()); });
        all.async([&] {
            while (ended < 2)
                fin_yield();
            all.cancel();
        });
    });
    CHECK_EQ(ended, 3);
}

fin::task<> answers(fin::rpc &r) {
    point p;
    uint32_t id;
    int error;
    while ((error = co_await co::accept(r, p, id)) == 0)
        CHECK_EQ(r.reply(id, p.x * p.y), 0);
    CHECK_EQ(error, -ESHUTDOWN);
    ended++;
}

fin::task<> calls(fin::rpc r) {
    int product = 0;
    char small[2];
    CHECK_EQ(co_await co::call(r, point{3, 5}, product), 0);
    CHECK_EQ(product, 15);
    point p = {2, 2};
    CHECK_EQ(co_await co::call(r, &p, sizeof p, small, sizeof small), -EMSGSIZE);
    ended++;
}

void rpcs() {
    auto [a, b] = fin::chan::pair();
    fin::rpc client(std::move(a), FIN_RPC_CLIENT), server(std::move(b));
    ended = 0;
    fin_finish {
        fin_async_task(answers(server));
        fin_async_task(calls(std::move(client)));
    }
    CHECK_EQ(ended, 2);
}

fin::task<> dispatches(fin::waitset &set) {
    int error;
    while ((error = co_await co::dispatch(set)) == 0) {
    }
    CHECK_EQ(error, -ECANCELED);
    ended++;
}

void events() {
    auto [a, b] = fin::chan::pair();
    fin::waitset set;
    auto &from = b;
    ended = sum = 0;
    auto on_message = [&from] {
        for (int x; from.try_recv(x) == 0;)
            sum += x;
    };
    CHECK_EQ(set.add(b, on_message), 0);
    fin::finish([&to = a, &set](fin::scope &s) {
        s.async(dispatches(set));
        for (int i = 1; i <= 10; i++) {
            CHECK_EQ(to.send(i), 0);
            fin_yield();
        }
        while (sum < 55)
            fin_yield();
        s.cancel();
    });
    CHECK_EQ(ended, 1);
}

} // namespace

int main() {
    channels();
    rpcs();
    events();
    return 0;
}
