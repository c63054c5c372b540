// SPDX-License-Identifier: BSD-2-Clause
#include <fin/coro.hpp>
void starts() {
    fin::finish([](fin::scope &s) { s.async([]() -> fin::task<int> { co_return 1; }); });
}
