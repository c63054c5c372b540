// SPDX-License-Identifier: BSD-2-Clause
// Calls with a continuation that are made with the stack, while others take the memory there is: what they did is not lost.
#include <fin/fixed.h>
#include <fin/linked.h>
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

static void reading(void) {
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
}

static struct fin_more_on more;
static int pair[2], first[2], count;
static struct fin_step steps[2];

static void closes(void *unused) {
    (void)unused;
    result = fin_close_on(&more, pair[0], has_read, NULL, 0);
}

static void goes_through_chain(void *unused) {
    (void)unused;
    count = fin_linked(steps, 2);
}

// It waits until the ring has given back a chain that names the descriptor.
static void closing(void) {
    stream_pair(pair);
    stream_pair(first);
    steps[0] = fin_step_recv(first[0], &byte, 1, 0);
    steps[1] = fin_step_write(pair[0], "x", 1);
    result = -EINPROGRESS;
    fin_finish_as(all) {
        fin_async_call(goes_through_chain, NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_async_call(closes, NULL);
        limit_memory();
        while (result == -EINPROGRESS) {
            while (fin_async_cont(waits, NULL, 0))
                continue;
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        }
        unlimit_memory();
        CHECK_EQ(result, 0);
        CHECK_EQ(write(first[1], "x", 1), 1);
        while (count == 0)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel_as(all);
    }
    CHECK_EQ(count, 1);
    CHECK_EQ(steps[1].result, -EBADF);
}

int main(void) {
    skip_where_watched();
    reading();
    closing();
    return 0;
}
