// SPDX-License-Identifier: BSD-2-Clause
#include <memory>
#include <fin/coro.hpp>
fin::task<> waits(std::unique_ptr<int> p) {
    co_await fin::co::with_stack([p = std::move(p)] { return *p; });
}
