// SPDX-License-Identifier: BSD-2-Clause
#include <fin/coro.hpp>
fin::task<> waits() {
    co_await fin::co::with_stack([] { return fin::end(); });
}
