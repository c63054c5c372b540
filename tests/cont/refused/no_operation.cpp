// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
static fin::next next(int &, int) { return fin::end(); }
fin::next wait() { return fin::wait_on<next, fin_close>(1, 2); }
