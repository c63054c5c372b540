// SPDX-License-Identifier: BSD-2-Clause
#include <fin.h>
#include <stdio.h>

static void sleeps(void *ended) {
    if (fin_sleep(1000000) == 0)
        ++*(int *)ended;
}

int main(void) {
    int ended = 0;
    fin_finish {
        for (int i = 0; i < 3; i++)
            fin_async_call(sleeps, &ended);
    }
    printf("%d asyncs ended\n", ended);
    return ended != 3;
}
