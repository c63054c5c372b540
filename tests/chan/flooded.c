// SPDX-License-Identifier: BSD-2-Clause
// The other process rings without end for nothing. One that receives is told that this breaks the protocol; so is one that
// computes, with alerts or in steps, and from then on no signal keeps it from its work.
#define _GNU_SOURCE
#include <fcntl.h>

#include "alert.h"
#include "scribble.h"

static void floods(void *unused) {
    struct got g;
    (void)unused;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    take_apart(&g);
    for (;;) {
        send(g.fd[0], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        send(g.fd[1], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

static void is_told(void *unused) {
    char word[8];
    (void)unused;
    int n = (int)fin_chan_try_recv(a, word, sizeof word);
    CHECK(n == -EPROTO || n == -EAGAIN);
    if (n == -EPROTO) {
        CHECK(!(fcntl(sockets[0], F_GETFL) & O_ASYNC));
        handled++;
    }
}

static void step(void *x) { *(double *)x = *(double *)x * 1.0000001 + 1e-9; }

static void compute(bool in_steps) {
    double x = 1;
    if (!in_steps)
        compute_until(1);
    while (handled == 0)
        fin_monitored_step(step, &x);
}

static void while_it_computes(bool in_steps) {
    handled = 0;
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, a, is_told, NULL), 0);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    fin_finish_as(all) {
        fin_async_call(serve, NULL);
        compute(in_steps);
        fin_cancel_as(all);
    }
    CHECK_EQ(handled, 1);
    fin_waitset_close(w);
}

static void one(int how) {
    char word[8];
    int pid = child(floods, NULL);
    CHECK_EQ(fin_chan_offer(&a, sockets[0], NULL), 0);
    if (how == 0)
        CHECK_EQ(fin_chan_recv(a, word, sizeof word), -EPROTO);
    else
        while_it_computes(how == 2);
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK_EQ(fin_chan_close(a), 0);
}

int main(void) {
    needs_signals();
    for (int how = 0; how < 3; how++)
        one(how);
    return 0;
}
