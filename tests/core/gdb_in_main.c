// SPDX-License-Identifier: BSD-2-Clause
// For gdb.py: its thread is stopped in main itself, beyond which gdb does not look by itself.
#include <fin.h>

static struct fin_awe *waiting;

static void waits(void *unused) {
    (void)unused;
    fin_suspend(&waiting);
}

int main(void) {
    fin_finish {
        fin_async_call(waits, NULL);
        fin_schedule(waiting); // gdb.py stops here
    }
    return 0;
}
