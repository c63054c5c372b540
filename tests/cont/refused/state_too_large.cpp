// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
struct large {
    char bytes[FIN_CONT_STATE + 1];
};
static fin::next next(large &, int) { return fin::end(); }
fin::next wait() { return fin::block_on<next>(large()); }
