// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
static void next(int &) { fin_cont_end(); }
void wait() { fin::block_on<next>(1); }
