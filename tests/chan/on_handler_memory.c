// SPDX-License-Identifier: BSD-2-Clause
// Who has a stack when it begins to wait for an event without one, where the event is there, and memory for one more AWE
// without a stack. What the handler starts does not take that: the continuation is called.
#include <fin/thc.h>

#include "chan.h"
#include "one_record.h"

static struct fin_waitset *set;
static struct fin_waitset_source source;
static struct fin_chan_on on;
static int refused, handled, dispatched = -1;
static bool ends_there;

static void handler(void *unused) {
    (void)unused;
    handled++;
    CHECK(!fin_cont_start_(NULL, blocks, NULL, 0)); // in the block around
    if (ends_there)
        THCFinish();
}

static void has_dispatched(void *state, int result) {
    (void)state;
    dispatched = result;
    fin_cont_end();
}

static void dispatch(void *unused) {
    (void)unused;
    fin_waitset_trigger(&source);
    refused = fin_waitset_dispatch_on(set, &on, has_dispatched, NULL, 0);
}

int main(void) {
    skip_where_watched();
    CHECK_EQ(fin_waitset_new(&set), 0);
    CHECK_EQ(fin_waitset_add_source(set, &source, handler, NULL), 0);
    fin_finish_as(all) {
        fin_async_cont(has_the_one, NULL, 0);
        leave_one_record();
        for (int i = 0; i < 3; i++) { // an AWE that ends in the handler keeps nothing back
            ends_there = true;
            fin_async_call(dispatch, NULL);
            let_all_run();
            CHECK_EQ(handled, i + 1);
        }
        ends_there = false;
        fin_async_call(dispatch, NULL);
        let_all_run();
        unlimit_memory();
        CHECK_EQ(handled, 4);
        CHECK_EQ(refused, 0);
        CHECK_EQ(dispatched, 0);
        fin_cancel_as(all);
    }
    fin_waitset_close(set);
    return 0;
}
