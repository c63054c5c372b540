// SPDX-License-Identifier: BSD-2-Clause
// A receiver that lets the processor wait, with a stand-in for one that can (stand_in/doze.h): a message that comes after
// the line is watched and before the doze is not slept through, one that comes during it is found, a skip moves the watch
// to the line that it leads to, and where nothing comes the wait ends soon. FIN_DOZE=0 forbids it. Then the same messages
// with what this processor has, if it has it.
#include "chan.h"
#include "chan/chan.h"

#define fin_ump_doze doze_stand_in // not the library's
#define fin_chan_backend backend_stand_in
#include "../../src/chan/doze.c"
#undef fin_ump_doze
#undef fin_chan_backend

static void send_one(void) {
    doze.watching = doze.dozing = NULL;
    CHECK_EQ(fin_chan_send(a, "message", 8), 0);
}

static void skip_comes(void) {
    struct ump_tx *tx = &a->out.ump;
    uint64_t header = ump_header(tx, 5, UMP_SKIP);
    doze.watching = NULL;
    doze.dozing = send_one;
    ump_write_header(tx, ump_line(tx->ring, tx->head, tx->lines), header, tx->head + 5);
}

static void take(void) {
    char p[8];
    CHECK_EQ(fin_chan_try_recv(b, p, sizeof p), 8);
    CHECK_EQ(memcmp(p, "message", 8), 0);
    doze.watched = doze.dozed = doze.kept_awake = 0;
    doze.watching = doze.dozing = NULL;
}

static void scenes(void) {
    struct ump_rx *rx = &b->in.ump;
    CHECK(!doze_stand_in(rx));
    CHECK_EQ(doze.watched, DOZES);
    CHECK_EQ(doze.dozed, DOZES);
    doze.watched = doze.dozed = 0;

    doze.watching = send_one;
    CHECK(doze_stand_in(rx));
    CHECK_EQ(doze.dozed, 0);
    take();

    doze.dozing = send_one;
    CHECK(doze_stand_in(rx));
    CHECK_EQ(doze.dozed, 1);
    take();

    doze.watching = skip_comes;
    CHECK(doze_stand_in(rx));
    CHECK_EQ(doze.dozed, 1);
    CHECK(doze.line == (const uint64_t *)ump_line(rx->ring, rx->tail, rx->lines));
    take();
}

static void answers(void *unused) {
    char p[8];
    (void)unused;
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(fin_chan_recv(b, p, sizeof p), 8);
        CHECK_EQ(fin_chan_send(b, p, 8), 0);
    }
}

static void for_real(void) {
    struct fin_thread_handle t;
    char p[8];
    CHECK_EQ(fin_thread_start(&t, answers, NULL), 0);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(fin_chan_send(a, "message", 8), 0);
        CHECK_EQ(fin_chan_recv(a, p, sizeof p), 8);
        if (i % 10 == 0)
            fin_sleep(20000); // the other side dozes
    }
    fin_thread_join_nc(&t);
}

static void forbidden(void) {
    open_kind(PAIR, 4096, 0);
    CHECK(!doze_stand_in(&b->in.ump));
    CHECK_EQ(doze.watched, 0);
    CHECK_EQ(strcmp(backend_stand_in(), "looks"), 0);
    CHECK_EQ(strcmp(fin_chan_backend(), "looks"), 0);
    for_real();
    close_both();
}

int main(void) {
    alarm(60);
    if (getenv("FIN_DOZE")) {
        forbidden();
        return 0;
    }
    for (enum kind kind = PAIR; kind < KINDS; kind++) {
        open_kind(kind, 4096, 0);
        scenes();
        for_real();
        close_both();
    }
    CHECK_EQ(strcmp(backend_stand_in(), "stand-in"), 0);
    CHECK(strlen(fin_chan_backend()) > 0);
    return 0;
}
