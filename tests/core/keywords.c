// SPDX-License-Identifier: BSD-2-Clause
// The words without their prefix (ac 2), beside Fin's headers that come later and a struct that has such a name.
#include <string.h>

#include <fin/keywords.h>
#include <fin/thc.h>

#include "check.h"

int main(void) {
    struct {
        int cancel;
    } options = {1};
    fin_shared int got = 0;
    finish_as(all) {
        finish_nc {
            async {
                fin_yield();
                LOG("b ");
            };
            LOG("a ");
        }
        async { got = fin_sleep(3600 * FIN_S); };
        async_eager {
            finish { cancel(); }
            CHECK(!fin_cancelled());
            if (options.cancel)
                cancel_as(all);
        };
    }
    CHECK_EQ(got, -ECANCELED);
    CHECK_LOG("a b ");
    return 0;
}
