// SPDX-License-Identifier: BSD-2-Clause
// Figure 1 of ac-extensions, as printed there.
#include <string.h>

#include <fin/thc.h>

#include "check.h"

#define print(text) LOG("%s", text)

static void do_something()
{
    THCYield();
    print("Got here too.\n");
}

static void do_something_else()
{
    print("Got here.\n");
}

int main(void) {
    DO_FINISH(
    {
        ASYNC(do_something());
        ASYNC(do_something_else());
    });
    CHECK_LOG("Got here.\nGot here too.\n");
    return 0;
}
