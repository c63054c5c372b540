// SPDX-License-Identifier: BSD-2-Clause
// A member that always has an event, a channel or a source, keeps no other from its turn: the silent channel next to it is
// heard after few events. Nor does it keep other AWEs of the thread from theirs, or a timer.
#include "chan.h"

enum { FEW_EVENTS = 200 };

static struct fin_waitset *w;
static struct fin_waitset_source source;
static struct fin_chan *busy[2];
static unsigned busy_events;
static bool heard;

static void is_busy(void *unused) {
    (void)unused;
    char p;
    busy_events++;
    CHECK_EQ(fin_chan_recv(busy[1], &p, 1), 1);
    CHECK_EQ(fin_chan_send(busy[0], &p, 1), 0);
}

static void triggers_itself(void *unused) {
    (void)unused;
    busy_events++;
    fin_waitset_trigger(&source);
}

static void hears(void *unused) {
    (void)unused;
    char p;
    CHECK_EQ(fin_chan_recv(b, &p, 1), 1);
    heard = true;
}

static void beside(enum kind kind, bool channel) {
    heard = false;
    CHECK_EQ(fin_waitset_new(&w), 0);
    open_kind(kind, 0, 0);
    busy[0] = a, busy[1] = b;
    open_kind(kind, 0, 0);
    CHECK_EQ(fin_waitset_add(w, busy[1], is_busy, NULL), 0);
    CHECK_EQ(fin_waitset_add(w, b, hears, NULL), 0);
    CHECK_EQ(fin_waitset_add_source(w, &source, triggers_itself, NULL), 0);
    if (channel)
        CHECK_EQ(fin_chan_send(busy[0], "x", 1), 0);
    else
        fin_waitset_trigger(&source);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 100; i++)
            CHECK_EQ(fin_waitset_dispatch(w), 0);
        CHECK_EQ(fin_chan_send(a, "x", 1), 0);
        heard = false;
        busy_events = 0;
        while (!heard && busy_events < FEW_EVENTS)
            CHECK_EQ(fin_waitset_dispatch(w), 0);
        CHECK(heard);
    }
    fin_waitset_close(w);
    close_both();
    CHECK_EQ(fin_chan_close(busy[0]), 0);
    CHECK_EQ(fin_chan_close(busy[1]), 0);
}

static bool slept;

static void sleeps(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sleep(1000), 0);
    slept = true;
}

static void beside_others(void) {
    fin_shared unsigned turns = 0;
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add_source(w, &source, triggers_itself, NULL), 0);
    fin_waitset_trigger(&source);
    fin_finish_as(all) {
        fin_async_call(sleeps, NULL);
        fin_async {
            while (!fin_cancelled()) {
                turns++;
                fin_yield();
            }
        };
        while (!slept)
            CHECK_EQ(fin_waitset_dispatch(w), 0);
        CHECK(turns > 0);
        fin_cancel_as(all);
    }
    fin_waitset_close(w);
}

int main(void) {
    alarm(60);
    beside_others();
    for (enum kind kind = 0; kind < KINDS; kind++) {
        beside(kind, true);
        beside(kind, false);
    }
    return 0;
}
