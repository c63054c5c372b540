// SPDX-License-Identifier: BSD-2-Clause
// A skip that its message follows rings no bell: who sleeps would wake for nothing, and its number would be used up.
// (waitset_skips.c has the whole.)
#include "asked.h"
#include "chan/chan.h"

static unsigned skips;

static bool armed(void) { return (__atomic_load_n(&b->in.ump.own->armed, __ATOMIC_RELAXED) & ~UMP_FENCES) != 0; }

static void asks(void) {
    void *room;
    char p[8];
    while (!armed())
        fin_yield();
    uint64_t hole = a->out.ump.hole;
    CHECK_EQ(fin_chan_reserve(a, 8, &room), 0);
    skips += a->out.ump.hole != hole && a->out.ump.hole != 0;
    while (!armed()) // it may have had a turn, and heard of what it has read by now
        fin_yield();
    CHECK(recv(b->in.ump.fd, p, 1, MSG_DONTWAIT | MSG_PEEK) == -1 && errno == EAGAIN);
    CHECK_EQ(fin_chan_commit(a, 8), 0);
    CHECK_EQ(recv(b->in.ump.fd, p, 1, MSG_DONTWAIT | MSG_PEEK), 1);
    CHECK_EQ(fin_chan_recv(a, p, sizeof p), 8);
}

int main(void) {
    alarm(60);
    open_kind(SOCKET, 4096, 0);
    in_rounds(asks);
    CHECK(skips > 0);
    close_both();
    return 0;
}
