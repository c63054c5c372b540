// SPDX-License-Identifier: BSD-2-Clause
// A call with a continuation that is made with the stack, while others take the memory there is: what it did is not lost.
#include <fin/fixed.h>
#include <fin/on.h>

#include "cont/memory.h"
#include "net.h"

static struct fin_on on;
static int ends[2], number, result;
static char byte;

static void has_read(void *state, int n) {
    (void)state;
    result = n;
    fin_cont_end();
}

// Not yet an AWE without a stack. It goes on here only where it was refused.
static void reads(void *unused) {
    (void)unused;
    result = fin_read_on(&on, number, &byte, 1, has_read, NULL, 0);
}

static void waits(void *state, int r) {
    if (r < 0)
        fin_cont_end();
    fin_block_on(waits, state, 0);
}

int main(void) {
    skip_where_watched();
    CHECK_EQ(pipe(ends), 0);
    number = fin_file_register(ends[0]);
    CHECK(number >= 0);
    result = -EINPROGRESS;
    fin_finish_as(all) {
        fin_async_call(reads, NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        limit_memory();
        while (fin_async_cont(waits, NULL, 0))
            fin_yield();
        CHECK_EQ(write(ends[1], "x", 1), 1);
        while (result == -EINPROGRESS)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        unlimit_memory();
        fin_cancel_as(all);
    }
    CHECK_EQ(result, 1);
    CHECK_EQ(byte, 'x');
    return 0;
}
