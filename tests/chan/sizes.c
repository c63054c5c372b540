// SPDX-License-Identifier: BSD-2-Clause
// Every length up to the longest; one that is too long is refused, as is a buffer that is too short, and then the message
// stays.
#include "chan.h"

static unsigned char p[33000], q[33000];

static void one(size_t size, unsigned number) {
    fill(p, size, number);
    CHECK_EQ(fin_chan_send(a, p, size), 0);
    memset(q, 0xee, size + 1);
    if (size > 0)
        CHECK_EQ(fin_chan_recv(b, q, size - 1), -EMSGSIZE);
    CHECK_EQ(fin_chan_recv(b, q, size), size);
    CHECK(filled(q, size, number));
    CHECK_EQ(q[size], 0xee);
}

// Nothing is written to it, whatever room it is said to have.
static void receives_nothing(void *room) { CHECK_EQ(fin_chan_recv(b, NULL, (size_t)(uintptr_t)room), 0); }

static void to_no_buffer(void) {
    for (uintptr_t room = 0; room < 3; room++) {
        fin_finish {
            fin_async_call(receives_nothing, (void *)room);
            CHECK_EQ(fin_chan_send(a, NULL, 0), 0);
        }
    }
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        open_kind(kind, 0, 0);
        size_t most = fin_chan_most(a);
        CHECK(most >= 32000 && most < sizeof p);
        CHECK_EQ(fin_chan_most(b), most);
        for (size_t size = 0; size < 1200; size++) {
            one(size, (unsigned)size);
            CHECK_EQ(fin_chan_send(a, p, most + 1), -EMSGSIZE); // also where there would be room
        }
        for (int i = 0; i < 10; i++)
            one(most, (unsigned)i);
        to_no_buffer();
        CHECK_EQ(fin_chan_send(a, p, most + 1), -EMSGSIZE);
        CHECK_EQ(fin_chan_try_send(a, p, most + 1), -EMSGSIZE);
        CHECK_EQ(fin_chan_try_recv(b, q, sizeof q), -EAGAIN);
        close_both();
    }
    struct fin_chan *c, *d;
    CHECK_EQ(fin_chan_pair(&c, &d, &(struct fin_chan_options){(size_t)1 << 40, 0}), -EINVAL);
    CHECK_EQ(fin_chan_pair(&c, &d, &(struct fin_chan_options){0, 64}), -EINVAL);
    return 0;
}
