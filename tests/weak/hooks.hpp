// SPDX-License-Identifier: BSD-2-Clause
#ifndef FIN_TESTS_WEAK_HOOKS_HPP
#define FIN_TESTS_WEAK_HOOKS_HPP

#include <cstdint>

namespace weak {

void weaken(uint64_t offset); // of where the code goes on behind the access; 0: none
void list_sites();            // those whose order is more than relaxed, and how often they came by

} // namespace weak

#endif
