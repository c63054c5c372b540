// SPDX-License-Identifier: BSD-2-Clause
// Messages made and read where they lie: contiguous also over the end of the ring, shorter than reserved, given up; others
// wait, or are told that they would.
#include "chan.h"

static int other;

static void send_other(void *unused) {
    (void)unused;
    CHECK_EQ(fin_chan_send(a, "other", 5), 0);
    other = 1;
}

static void receive_other(void *unused) {
    char p[8];
    (void)unused;
    CHECK_EQ(fin_chan_recv(b, p, sizeof p), 5);
    other = 2;
}

static void one(size_t reserved, size_t used, unsigned number) {
    void *room;
    const void *bytes;
    CHECK_EQ((number % 2 ? fin_chan_reserve : fin_chan_try_reserve)(a, reserved, &room), 0);
    CHECK_EQ((uintptr_t)room % (reserved < 1024 ? 8 : 64), 0);
    memset(room, 0xff, reserved);
    CHECK_EQ(fin_chan_commit(a, reserved + 1), -EINVAL);
    CHECK_EQ(fin_chan_try_recv(b, room, reserved), -EAGAIN);
    fill(room, used, number);
    CHECK_EQ(fin_chan_commit(a, used), 0);
    CHECK_EQ(fin_chan_peek(b, &bytes), used);
    CHECK_EQ((uintptr_t)bytes % (used < 1024 ? 8 : 64), 0);
    CHECK(filled(bytes, used, number));
    CHECK_EQ(fin_chan_release(b), 0);
    CHECK_EQ(fin_chan_try_recv(b, &bytes, sizeof bytes), -EAGAIN);
}

static const char long_one[1000];

enum { CLOSES, TRIES, TRIES_LONG, SENDS, NOBODY, SEERS };

// A reservation is respected by who is the first to come upon it; after its end there is none.
static void seen_first_by(int who, bool commits) {
    void *room;
    char p[8];
    fin_finish {
        CHECK_EQ(fin_chan_reserve(a, 5, &room), 0);
        if (who == CLOSES)
            CHECK_EQ(fin_chan_close(a), -EBUSY);
        else if (who == TRIES)
            CHECK_EQ(fin_chan_try_send(a, "x", 1), -EAGAIN);
        else if (who == TRIES_LONG)
            CHECK_EQ(fin_chan_try_send(a, long_one, sizeof long_one), -EAGAIN);
        else if (who == SENDS)
            fin_async_call(send_other, NULL);
        memcpy(room, "first", 5);
        if (commits)
            CHECK_EQ(fin_chan_commit(a, 5), 0);
        else
            fin_chan_abandon(a);
        CHECK_EQ(fin_chan_commit(a, 0), -EINVAL);
    }
    for (int i = 0; i < commits + (who == SENDS); i++) {
        CHECK_EQ(fin_chan_recv(b, p, sizeof p), 5);
        CHECK_EQ(memcmp(p, commits && i == 0 ? "first" : "other", 5), 0);
    }
    CHECK_EQ(fin_chan_try_recv(b, p, sizeof p), -EAGAIN);
}

// A trace begins after a message, and in the midst of a reservation: from then on nothing is quick.
static void traced(void) {
    void *room;
    char p[8];
    for (int within = 0; within < 2; within++) {
        CHECK_EQ(fin_chan_reserve(a, 5, &room), 0);
        memcpy(room, "first", 5);
        if (!within)
            CHECK_EQ(fin_chan_commit(a, 5), 0);
        CHECK_EQ(fin_trace_start("/dev/null"), 0);
        if (within) {
            CHECK_EQ(fin_chan_try_send(a, "x", 1), -EAGAIN);
            CHECK_EQ(fin_chan_commit(a, 5), 0);
        }
        CHECK_EQ(fin_chan_commit(a, 0), -EINVAL);
        CHECK_EQ(fin_chan_try_send(a, "other", 5), 0);
        CHECK_EQ(fin_chan_recv(b, p, sizeof p), 5);
        CHECK_EQ(fin_chan_recv(b, p, sizeof p), 5);
        CHECK_EQ(memcmp(p, "other", 5), 0);
        CHECK_EQ(fin_trace_stop(), 0);
    }
}

// Who would have to wait, for room or for a turn, is told so; who waits behind a reservation that was tried gets its turn.
static void tries(void) {
    void *room, *other_room;
    char p[2000] __attribute__((aligned(8)));
    int sent = 0;
    CHECK_EQ(fin_chan_try_reserve(a, fin_chan_most(a) + 1, &room), -EMSGSIZE);
    for (int r; (r = fin_chan_try_reserve(a, sent % 3 == 2 ? 1500 : 8, &room)) != -EAGAIN; sent++) {
        CHECK_EQ(r, 0);
        CHECK_EQ(fin_chan_try_reserve(a, 8, &other_room), -EAGAIN);
        CHECK_EQ(fin_chan_try_reserve(a, 1500, &other_room), -EAGAIN);
        CHECK_EQ(fin_chan_close(a), -EBUSY);
        *(int *)room = sent;
        CHECK_EQ(fin_chan_commit(a, sent % 3 == 2 ? 1500 : 8), 0);
    }
    CHECK(sent > 3);
    for (int i = 0; i < sent; i++) {
        CHECK_EQ(fin_chan_recv(b, p, sizeof p), i % 3 == 2 ? 1500 : 8);
        CHECK_EQ(*(int *)(void *)p, i);
    }
    other = 0;
    for (int size = 8; size <= 1500; size += 1492) {
        fin_finish {
            CHECK_EQ(fin_chan_try_reserve(a, (size_t)size, &room), 0);
            fin_async_call(send_other, NULL);
            CHECK_EQ(other, 0);
            if (size == 8)
                fin_chan_abandon(a);
            else
                CHECK_EQ(fin_chan_commit(a, 0), 0);
        }
        if (size == 1500)
            CHECK_EQ(fin_chan_recv(b, p, sizeof p), 0);
        CHECK_EQ(fin_chan_recv(b, p, sizeof p), 5);
        CHECK_EQ(other, 1);
        other = 0;
    }
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        void *room;
        const void *bytes;
        char p[8];
        open_kind(kind, 4096, 0);
        CHECK_EQ(fin_chan_commit(a, 0), -EINVAL);
        CHECK_EQ(fin_chan_release(b), -EINVAL);
        CHECK_EQ(fin_chan_reserve(a, fin_chan_most(a) + 1, &room), -EMSGSIZE);
        for (unsigned i = 0; i < 3000; i++) {
            size_t reserved = (size_t)i * 37 % 1500;
            one(reserved, i % 3 ? reserved : reserved / 2, i);
            if (i % 7 == 0) {
                CHECK_EQ(fin_chan_reserve(a, 1000, &room), 0);
                memset(room, 0x01, 1000);
                fin_chan_abandon(a);
                fin_chan_abandon(a);
            }
        }
        fin_finish {
            CHECK_EQ(fin_chan_reserve(a, 8, &room), 0);
            fin_async_call(send_other, NULL);
            CHECK_EQ(fin_chan_close(a), -EBUSY);
            CHECK_EQ(fin_chan_try_send(a, "x", 1), -EAGAIN);
            memcpy(room, "first", 5);
            other = 0;
            CHECK_EQ(fin_chan_commit(a, 5), 0);
            CHECK_EQ(fin_chan_peek(b, &bytes), 5);
            CHECK(memcmp(bytes, "first", 5) == 0);
            fin_async_call(receive_other, NULL);
            CHECK_EQ(fin_chan_try_recv(b, p, sizeof p), -EAGAIN);
            CHECK_EQ(fin_chan_release(b), 0);
        }
        CHECK_EQ(other, 2);
        for (int i = 0; i < 2 * SEERS; i++)
            seen_first_by(i / 2, i % 2);
        traced();
        tries();
        close_both();
        open_kind(kind, 4096, kind == LOCAL ? 0 : FIN_CHAN_SHARED);
        tries();
        close_both();
    }
    return 0;
}
