// SPDX-License-Identifier: BSD-2-Clause
// A task serves calls, with a task for each: they wait at the same time, answer in any order, and end before it does; an
// exception of one, or a cancel, ends all.
#include <string>
#include <vector>

#include <fin/co_serve.hpp>

#include "check.h"

namespace co = fin::co;

namespace {

struct ends {
    fin::rpc client, server;
    ends() {
        auto [a, b] = fin::chan::pair();
        client = fin::rpc(std::move(a), FIN_RPC_CLIENT);
        server = fin::rpc(std::move(b));
    }
};

int left, error;
fin_event go;

fin::task<int> doubled(const int &x) { // the smaller, the later
    fin_event_advance(&go, 1);
    int e = co_await co::await(go, 10); // all are here
    CHECK_EQ(e, 0);
    for (int i = 0; i < 10 - x; i++)
        co_await co::yield();
    co_return 2 * x;
}

fin::task<> serves(fin::rpc &server) {
    error = co_await co::serve<int>(server, doubled);
    left++;
}

fin::task<> asks(fin::rpc &client, int x, std::vector<int> &order) {
    int twice = 0;
    CHECK_EQ(co_await co::call(client, x, twice), 0);
    CHECK_EQ(twice, 2 * x);
    order.push_back(x);
}

void at_once() {
    ends e;
    std::vector<int> order;
    left = error = 0;
    fin_event_init(&go);
    fin_finish {
        fin_async_task(serves(e.server));
        fin::finish([&](fin::scope &s) {
            for (int x = 0; x < 10; x++)
                s.async(asks(e.client, x, order));
        });
        char none[4];
        CHECK_EQ(e.client.call("longer than an int", 18, none, sizeof none), 0); // no request
        e.client = fin::rpc();
    }
    CHECK_EQ(left, 1);
    CHECK_EQ(error, -ESHUTDOWN);
    CHECK_EQ(order.size(), 10);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(order[static_cast<size_t>(i)], 9 - i);
}

fin::task<> serves_text(fin::rpc &server) {
    std::string greeting = "hello, ";
    auto greets = [greeting](const std::string &s) { return greeting + s; };
    error = co_await co::serve<std::string>(server, greets);
    left++;
}

fin::task<> asks_text(fin::rpc &client) {
    std::string all, name(700, 'x');
    CHECK_EQ(co_await co::call(client, "you", 3, all.data(), 0), -EMSGSIZE);
    CHECK_EQ(co_await co::call(client, std::string("you"), all), 0);
    CHECK(all == "hello, you");
    CHECK_EQ(co_await co::call(client, name, all), 0);
    CHECK(all == "hello, " + name);
    CHECK_EQ(co_await co::call(client, std::string(client.most(), 'x'), all), 0); // to which the answer is too long
    CHECK(all.empty());
    client = fin::rpc();
}

void texts() {
    ends e;
    left = 0;
    fin_finish {
        fin_async_task(serves_text(e.server));
        fin_async_task(asks_text(e.client));
    }
    CHECK_EQ(left, 1);
    CHECK_EQ(error, -ESHUTDOWN);
}

// Has an object in its frame while it waits.
struct counted {
    static int alive;
    counted() { alive++; }
    counted(const counted &) = delete;
    ~counted() { alive--; }
};
int counted::alive;

fin::task<int> waits(const int &x) {
    counted c;
    int e = co_await co::await(go, 1);
    if (x == 3)
        throw std::runtime_error("three");
    co_return e;
}

fin::task<> serves_waits(fin::rpc &server) {
    try {
        error = co_await co::serve<int>(server, waits);
    } catch (const std::runtime_error &e) {
        CHECK(std::string(e.what()) == "three");
        error = 1;
    }
    CHECK_EQ(counted::alive, 0);
    server = fin::rpc();
    left++;
}

int told;
fin::task<> is_told(fin::rpc &client, int x, int what) {
    int answer;
    CHECK_EQ(co_await co::call(client, x, answer), what);
    told++;
}

void thrown() {
    ends e;
    left = told = 0;
    fin_event_init(&go);
    fin_finish {
        fin_async_task(serves_waits(e.server));
        for (int x = 1; x <= 5; x++)
            fin_async_task(is_told(e.client, x, x < 3 ? 0 : -ESHUTDOWN));
        while (counted::alive < 5)
            fin_yield();
        fin_event_advance(&go, 1);
    }
    CHECK_EQ(left, 1);
    CHECK_EQ(told, 5);
    CHECK_EQ(error, 1);
}

void cancelled() {
    ends e;
    left = told = 0;
    fin_event_init(&go);
    fin::finish([&](fin::scope &all) {
        all.async([&] {
            fin::finish([&](fin::scope &s) {
                s.async(serves_waits(e.server));
                while (counted::alive < 5)
                    fin_yield();
                s.cancel();
            });
        });
        for (int x = 10; x < 15; x++)
            all.async(is_told(e.client, x, -ESHUTDOWN)); // what was cancelled answers no more
    });
    CHECK_EQ(left, 1);
    CHECK_EQ(told, 5);
    CHECK_EQ(error, -ECANCELED);
}

} // namespace

int main() {
    at_once();
    texts();
    thrown();
    cancelled();
    return 0;
}
