// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
static fin::no_return next(int &, int result) {
    if (result < 0)
        return {};
    fin_cont_end();
}
void wait() { fin::block_on<next>(1); }
