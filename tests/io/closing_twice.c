// SPDX-License-Identifier: BSD-2-Clause
// A number counts as closed while a chain is to close it, and no longer where it did not; but where another close came
// meanwhile, it does.
#include <fin.h>

#include "check.h"

#include "io/io.h"

int main(void) {
    struct call waits = {.fd = 5, .since = fin_closes_now()};
    struct closing chain = fin_closing(5);
    CHECK(fin_any_closed(&waits));
    fin_not_closed(5, chain);
    CHECK(!fin_any_closed(&waits));
    chain = fin_closing(5);
    fin_closing(5);
    fin_not_closed(5, chain);
    CHECK(fin_any_closed(&waits));
    return 0;
}
