// SPDX-License-Identifier: BSD-2-Clause
#include <fin.h>
void f(void);
void start(int x) {
    fin_finish {
        if (x)
            fin_async { f(); };
    }
}
