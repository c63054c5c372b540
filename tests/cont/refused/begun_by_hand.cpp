// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
static fin::next next(int &, int) { return fin::end(); }
fin::next wait() { return fin::next(fin::continuation<next, int>, 1, fin_block_on); }
