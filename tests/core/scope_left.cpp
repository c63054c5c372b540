// SPDX-License-Identifier: BSD-2-Clause
// The scope of a block exists until all that is in the block has ended, also where an exception leaves the block itself:
// what is there may refer to it (ASan sees it if not). The first exception arrives, and what comes later is lost.
#include <stdexcept>
#include <string>

#include <fin.hpp>

#include "check.h"

static int started;

static void uses_the_scope_late(fin::scope &s) {
    s.async([&s]() FIN_BLOCKING {
        fin_yield();
        s.cancel();
        s.async([]() FIN_BLOCKING {
            started++;
            fin_yield();
            throw std::runtime_error("second");
        });
    });
    throw std::runtime_error("first");
}

template <class Block> static void arrives(Block block) {
    std::string what;
    try {
        block();
    } catch (const std::runtime_error &e) {
        what = e.what();
    }
    CHECK(what == "first");
}

int main() {
    arrives([] { fin::finish(uses_the_scope_late); });
    arrives([] { fin::finish_nc(uses_the_scope_late); });
    arrives([] { fin::timeout(FIN_S, uses_the_scope_late); });
    arrives([] { fin::deadline(UINT64_MAX, uses_the_scope_late); });
    CHECK_EQ(started, 4);
    return 0;
}
