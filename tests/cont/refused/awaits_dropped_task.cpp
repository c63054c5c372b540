// SPDX-License-Identifier: BSD-2-Clause
#include <fin/coro.hpp>
fin::task<> one() { co_return; }
void starts() {
    fin::finish([](fin::scope &) { return one(); });
}
