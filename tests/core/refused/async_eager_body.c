// SPDX-License-Identifier: BSD-2-Clause
#include <fin.h>
void f(void);
void start(void) {
    fin_async_eager { f(); };
}
