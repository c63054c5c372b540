// SPDX-License-Identifier: BSD-2-Clause
// AWEs that run each other by directed yields only do not keep timers from running.
#include "net.h"

int main(void) {
    uint32_t a, b;
    CHECK_EQ(fin_awe_id_create(&a), 0);
    CHECK_EQ(fin_awe_id_create(&b), 0);
    for (int kind = 0; kind < 2; kind++) {
        fin_timeout(5 * FIN_MS) {
            fin_async {
                CHECK_EQ(fin_yield_and_save(a), 0);
                while (!fin_cancelled())
                    (void)(kind ? fin_yield_to_id_and_save(b, a) : fin_yield_to_id_and_save_no_dispatch(b, a));
                fin_yield_to_id_and_save_no_dispatch(b, a);
            };
            fin_yield_to_id_and_save(a, b);
            while (!fin_cancelled())
                (void)(kind ? fin_yield_to_id_and_save(a, b) : fin_yield_to_id_and_save_no_dispatch(a, b));
            if (fin_awe_id_get(a))
                CHECK_EQ(fin_yield_to_id(a), 0);
        }
        CHECK(fin_timed_out());
    }
    return 0;
}
