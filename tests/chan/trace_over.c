// SPDX-License-Identifier: BSD-2-Clause
// While there is a trace no end has its quick halves, and when it is over an end has them again with its next message, also
// where nobody ever waits.
#include <fin/trace.h>

#include "chan.h"
#include "chan/chan.h"

static void send_and_receive(void) {
    int n = 1;
    CHECK_EQ(fin_chan_send(a, &n, sizeof n), 0);
    CHECK_EQ(fin_chan_try_recv(b, &n, sizeof n), sizeof n);
}

static bool are_quick(void) { return (a->out.ump.alone ? a->out.here : a->out.quick) && b->in.quick; }

static void before_during_and_after(enum kind kind) {
    open_kind(kind, 4096, 0);
    send_and_receive();
    CHECK(are_quick());
    CHECK_EQ(fin_trace_start("/dev/null"), 0);
    send_and_receive();
    CHECK(!a->out.quick && !a->out.here && !b->in.quick);
    CHECK_EQ(fin_trace_stop(), 0);
    send_and_receive();
    CHECK(are_quick());
    close_both();
}

int main(void) {
    for (int kind = 0; kind < KINDS; kind++)
        before_during_and_after(kind);
    return 0;
}
