// SPDX-License-Identifier: BSD-2-Clause
// No wake-up is lost between two processes.
#include "talk.h"

static void other_process(void *unused) {
    (void)unused;
    struct fin_chan *c;
    CHECK_EQ(fin_chan_take(&c, sockets[1], 0), 0);
    talk(c, false, 5);
    CHECK_EQ(fin_chan_close(c), 0);
}

int main(void) {
    char byte;
    rounds = few(20000);
    pid_t pid = child(other_process, NULL);
    CHECK_EQ(fin_chan_offer(&a, sockets[0], &(struct fin_chan_options){4096, 0}), 0);
    talk(a, true, 9);
    CHECK_EQ(fin_chan_recv(a, &byte, 1), -ESHUTDOWN);
    CHECK_EQ(fin_chan_close(a), 0);
    ended_well(pid);
    return 0;
}
