// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
bool half_a_second() {
    return fin::timeout(0.5, [](fin::scope &) {});
}
