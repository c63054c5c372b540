// SPDX-License-Identifier: BSD-2-Clause
// An alert for more channels than the kernel is asked for at a time: those that it names first have nothing, and the message
// behind them is heard of all the same.
#include "alert.h"
#include "chan/chan.h"

enum { MANY = 100 };
static struct fin_chan *sender[MANY], *receiver[MANY];

static void for_nothing(unsigned i) {
    fin_ump_ring(&sender[i]->out.ump, __atomic_load_n(&receiver[i]->in.ump.own->armed, __ATOMIC_RELAXED));
}

int main(void) {
    needs_signals();
    CHECK_EQ(fin_waitset_new(&w), 0);
    for (unsigned i = 0; i < MANY; i++) {
        open_kind(SOCKET, 4096, 0);
        CHECK_EQ(fin_waitset_add(w, b, handle, b), 0);
        sender[i] = a;
        receiver[i] = b;
    }
    CHECK_EQ(fin_waitset_monitor(w), 0);
    fin_finish_as(all) {
        fin_async_call(serve, NULL);
        for (unsigned i = 0; i < MANY - 1; i++)
            for_nothing(i);
        CHECK_EQ(fin_chan_send_nc(sender[MANY - 1], &(unsigned){0}, sizeof(unsigned)), 0);
        fin_alert_enable();
        CHECK_EQ(handled, 1);
        fin_alert_disable();
        fin_cancel_as(all);
    }
    fin_waitset_close(w);
    for (unsigned i = 0; i < MANY; i++) {
        CHECK_EQ(fin_chan_close(sender[i]), 0);
        CHECK_EQ(fin_chan_close(receiver[i]), 0);
    }
    return 0;
}
