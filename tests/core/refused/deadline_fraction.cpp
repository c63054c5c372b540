// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
void later() {
    fin_deadline(static_cast<double>(fin_now()) + 1e9) {
    }
}
