// SPDX-License-Identifier: BSD-2-Clause
// Exceptions arrive, whichever file comes first for the linker.
#include <stdexcept>

#include "check.h"
#include "either_way.hpp"
#include "process.h"

static void fails() { throw std::runtime_error("it failed"); }

void with_exceptions();
void with_exceptions() {
    int caught = 0;
    for (auto way : all_ways) {
        try {
            way(fails);
        } catch (const std::runtime_error &) { // a system_error, too
            caught++;
        }
    }
    CHECK_EQ(caught, sizeof all_ways / sizeof *all_ways);
    char text[512];
    for (auto ends : {+[] { in_handler(fails); }, +[] { in_served(fails); }})
        CHECK_EQ(killed_by(ends, text, sizeof text), SIGABRT);
}
