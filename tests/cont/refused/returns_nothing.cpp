// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
static void next(int &, int) {} // and does not say what comes next
fin::next wait() { return fin::block_on<next>(1); }
