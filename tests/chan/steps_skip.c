// SPDX-License-Identifier: BSD-2-Clause
// The next message goes past a skip that its sender has left already, at the end of the ring, when a thread begins to run
// steps: these look where the message will be, and not where the skip is. At each place of the ring.
#include "alert.h"

enum { RING = 4096, FIRST = 64, PLACES = 64 };

static struct fin_sem reserve, reserved, commit;
static unsigned trips, number;

static void peer(void *unused) {
    char text[8];
    void *room;
    (void)unused;
    for (unsigned i = 0; i < trips; i++) {
        CHECK_EQ(fin_chan_recv(a, text, sizeof text), sizeof text);
        CHECK_EQ(fin_chan_send(a, text, sizeof text), 0);
    }
    CHECK_EQ(fin_sem_wait(&reserve), 0);
    CHECK_EQ(fin_chan_reserve(a, sizeof number, &room), 0);
    memcpy(room, &number, sizeof number);
    CHECK_EQ(fin_sem_post(&reserved), 0);
    CHECK_EQ(fin_sem_wait(&commit), 0);
    CHECK_EQ(fin_chan_commit(a, sizeof number), 0);
}

static void to_place(unsigned place) {
    char text[8] = "";
    for (unsigned i = 0; i < place; i++) {
        CHECK_EQ(fin_chan_send(b, text, sizeof text), 0);
        CHECK_EQ(fin_chan_recv(b, text, sizeof text), sizeof text);
    }
}

static void step(void *n) { ++*(unsigned *)n; }

static void one(unsigned place) {
    struct fin_thread_handle t;
    unsigned steps = 0;
    open_kind(PAIR, RING, 0);
    handled = 0;
    trips = place;
    CHECK_EQ(fin_thread_start(&t, peer, NULL), 0);
    to_place(place);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, handle, b), 0);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    fin_finish_as(all) {
        fin_async_call(serve, NULL);
        CHECK_EQ(fin_sem_post(&reserve), 0);
        CHECK_EQ(fin_sem_wait(&reserved), 0); // asleep: the channel is armed, and the skip has rung for nothing
        fin_monitored_step(step, &steps);
        CHECK_EQ(fin_sem_post(&commit), 0);
        while (handled == 0) // an alarm ends a test whose message nobody sees
            fin_monitored_step(step, &steps);
        fin_cancel_as(all);
    }
    fin_thread_join_nc(&t);
    fin_waitset_close(w);
    close_both();
}

int main(void) {
    needs_signals();
    fin_sem_init(&reserve, 0);
    fin_sem_init(&reserved, 0);
    fin_sem_init(&commit, 0);
    for (unsigned i = 0; i < PLACES; i++)
        one(FIRST + i);
    return 0;
}
