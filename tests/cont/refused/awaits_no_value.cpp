// SPDX-License-Identifier: BSD-2-Clause
#include <fin/coro.hpp>
fin::task<int> answers() { co_return 42; }
void owns() {
    fin::finish([](fin::scope &s) { s.async(answers()); });
}
