// SPDX-License-Identifier: BSD-2-Clause
// A number counts as closed while a close of it is in progress, and no longer where none did close it; but where one of
// several did, it does, in whatever order they begin and end.
#include <fin.h>

#include "check.h"

#include "io/io.h"

enum { MOST = 3 };

// Closes begin in their order; they end in that of `order`, and those of which `closes` has the bit close.
static void several(int n, const int *order, unsigned closes) {
    struct call waits = {.fd = 5, .since = fin_closes_now()};
    uint64_t begun[MOST];
    CHECK(!fin_any_closed(&waits));
    for (int i = 0; i < n; i++)
        begun[i] = fin_close_begins(5);
    for (int i = 0; i < n; i++) {
        CHECK(fin_any_closed(&waits));
        fin_close_ends(5, begun[order[i]], closes >> order[i] & 1);
    }
    CHECK_EQ(fin_any_closed(&waits), closes != 0);
    waits.since = fin_closes_now();
    CHECK(!fin_any_closed(&waits));
}

int main(void) {
    static const int orders[][MOST] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int i = 0; i < 2; i++)
        several(1, orders[0], (unsigned)i);
    for (unsigned closes = 0; closes < 4; closes++) {
        several(2, orders[0], closes);
        several(2, orders[2], closes);
    }
    for (int i = 0; i < 6; i++)
        for (unsigned closes = 0; closes < 8; closes++)
            several(3, orders[i], closes);
    return 0;
}
