// SPDX-License-Identifier: BSD-2-Clause
// fin::offload: a lambda's result and its exception come back; what was cancelled throws and did not run.
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <fin.hpp>

#include "check.h"

struct no_default {
    explicit no_default(int v) : value(std::make_unique<int>(v)) {}
    std::unique_ptr<int> value;
};

// Who asks for its address with & gets none.
struct no_address {
    int n = 7;
    no_address *operator&() { return nullptr; }
};

static void results() {
    int n = 0;
    auto here = std::this_thread::get_id();
    CHECK(fin::offload([&] { return std::string(1000, 'x'); }) == std::string(1000, 'x'));
    CHECK_EQ(*fin::offload([] { return no_default(5); }).value, 5);
    CHECK(fin::offload([] { return std::this_thread::get_id(); }) != here);
    fin::offload([&] { n = 3; });
    CHECK_EQ(n, 3);
    fin::offload([&]() -> int & { return n; }) = 4;
    auto own = std::make_unique<int>(6);
    auto moved = fin::offload([&]() -> std::unique_ptr<int> && { return std::move(own); });
    CHECK(!own && *moved == 6);
    no_address it;
    CHECK_EQ(fin::offload([&]() -> no_address & { return it; }).n, 7);
    CHECK_EQ(n, 4);
    auto named = [&] { return ++n; };
    CHECK_EQ(fin::offload_nc(named), 5);
}

static void exceptions() {
    int caught = 0;
    try {
        fin::offload([]() -> int { throw std::runtime_error("from elsewhere"); });
    } catch (const std::runtime_error &e) {
        caught += e.what() == std::string("from elsewhere");
    }
    try {
        fin_finish {
            fin_async { fin::offload([] { throw 5; }); };
        }
    } catch (int five) {
        caught += five == 5;
    }
    CHECK_EQ(caught, 2);
}

static void cancelled() {
    bool ran = false, told = false;
    fin_finish {
        fin_cancel();
        try {
            fin::offload([&] { ran = true; });
        } catch (const std::system_error &e) {
            told = e.code() == std::errc::operation_canceled;
        }
        CHECK_EQ(fin::offload_nc([] { return 1; }), 1);
    }
    CHECK(told && !ran);
}

int main() {
    for (int i = 0; i < 20; i++) {
        results();
        exceptions();
        cancelled();
    }
    return 0;
}
