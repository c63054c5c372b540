// SPDX-License-Identifier: BSD-2-Clause
#include <fin.h>
void stop(void) {
    fin_finish_as(other) { fin_cancel_as(queries); }
}
