// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
struct large {
    char bytes[FIN_CONT_STATE + 1];
};
static void next(large &, int) { fin_cont_end(); }
void wait() { fin::block_on<next>(large()); }
