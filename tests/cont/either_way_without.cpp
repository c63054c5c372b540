// SPDX-License-Identifier: BSD-2-Clause
// Compiled with -fno-exceptions.
#include "either_way.hpp"

#ifdef __cpp_exceptions
#error "this is compiled with -fno-exceptions"
#endif

static void does_nothing() {}

void without_exceptions();
void without_exceptions() {
    in_check(nullptr);
    for (auto way : all_ways)
        if (way != in_check)
            way(does_nothing);
    in_handler(does_nothing);
    in_served(does_nothing);
}
