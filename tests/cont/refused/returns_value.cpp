// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
static int next(int &n, int) { return n; }
fin::next wait() { return fin::block_on<next>(1); }
