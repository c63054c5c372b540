// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
static fin::next next(int &, int) { return fin::end(); }
void wait() {
    fin::finish([](fin::scope &) -> const fin::next { return fin::block_on<next>(1); });
}
