// SPDX-License-Identifier: BSD-2-Clause
#include <fin/coro.hpp>
fin::task<int> one() { co_return 1; }
fin::task<> waits() {
    co_await fin::co::with_stack([] { return one(); });
}
