// SPDX-License-Identifier: BSD-2-Clause
#include <fin.h>
void stop(void) { fin_cancel(); }
