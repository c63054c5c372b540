// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
#include <string>
static void next(std::string &, int) { fin_cont_end(); }
void wait() { fin::block_on<next>(std::string("lost")); }
