// SPDX-License-Identifier: BSD-2-Clause
#include <memory>

#include <fin/coro.hpp>
fin::task<int> owns(std::unique_ptr<int> p) {
    co_return co_await fin::co::invoke([p = std::move(p)]() -> fin::task<int> { co_return *p; });
}
