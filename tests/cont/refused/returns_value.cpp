// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
static int next(int &n, int) { return n; }
void wait() { fin::block_on<next>(1); }
