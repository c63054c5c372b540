// SPDX-License-Identifier: BSD-2-Clause
#include <fin/coro.hpp>
struct alignas(64) line {
    char bytes[64];
};
fin::task<> reads() { line got = co_await fin::co::offload([] { return line(); }); }
