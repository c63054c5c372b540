// SPDX-License-Identifier: BSD-2-Clause
// The body runs at once; when it blocks, the continuation runs next, before anything queued; the queue is first in, first
// out.
#include <string.h>

#include <fin.h>

#include "check.h"

int main(void) {
    fin_finish {
        for (int i = 0; i < 3; i++) {
            fin_async {
                int mine = i;
                LOG("b%d ", mine);
                fin_yield();
                LOG("c%d ", mine);
                fin_yield();
                LOG("d%d ", mine);
            };
            LOG("n%d ", i);
        }
        LOG("end ");
    }
    LOG("after");
    CHECK_LOG("b0 n0 b1 n1 b2 n2 end c0 c1 c2 d0 d1 d2 after");
    return 0;
}
