// SPDX-License-Identifier: BSD-2-Clause
// A local that a detached body changes is read anew by its owner after every call that may block: compilers must not
// conclude from the body's code that nothing keeps the address of the owner's frame.
#include <fin.h>

#include "check.h"

int main(void) {
    fin_shared int n = 0, rounds = 0;
    fin_finish {
        fin_async {
            fin_yield();
            n = 1;
            fin_yield();
            fin_yield();
            n = 2;
        };
        while (n == 0 && rounds < 10) {
            fin_yield();
            rounds++;
        }
        CHECK_EQ(n, 1);
        while (n == 1 && rounds < 20) {
            fin_yield();
            rounds++;
        }
        CHECK_EQ(n, 2);
        n = 3;
    }
    CHECK_EQ(n, 3);
    return 0;
}
