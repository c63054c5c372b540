// SPDX-License-Identifier: BSD-2-Clause
#include <fin/coro.hpp>
fin::task<> waits() {
    auto sleep = fin::co::sleep(1);
    co_await sleep;
}
