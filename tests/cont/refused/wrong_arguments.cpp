// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
static fin::next next(int &) { return fin::end(); }
fin::next wait() { return fin::block_on<next>(1); }
