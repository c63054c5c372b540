// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
void stop() {
    fin_finish_as(other) { fin_cancel_as(queries); }
}
