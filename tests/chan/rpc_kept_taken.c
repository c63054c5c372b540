// SPDX-License-Identifier: BSD-2-Clause
// Requests that are kept in memory are given to those who accept one each, also while an AWE reads, which waits for an
// answer that comes last. Looks into the room.
#include <fin/rpc_on.h>

#include "chan/rpc.h"

#include "chan.h"

enum { ACCEPTERS = 14, SHORT = 10, SOME = 8, LONG = 1900, HALF = 1000 };

static struct fin_rpc *near, *far;
static char bytes[2048], requests[ACCEPTERS][2048], answer[SOME];
static uint32_t early, late, theirs; // calls of the near end that are answered last, or never; the first one that comes
static int served;
static struct fin_rpc_on on;

static void ended(void *unused, int n) {
    (void)unused;
    CHECK(n < 0);
    fin_cont_end();
}

// The first one asks in its turn, and so is the one that reads.
static FIN_BLOCKING void accepts_one(void *request) {
    uint32_t id;
    ssize_t n = fin_rpc_accept_nc(near, request, sizeof bytes, &id);
    if (n < 0)
        return;
    if (served++ == 0)
        fin_rpc_recv_nc(near, late, answer, sizeof answer);
}

// Fills the ring, and waits for room.
static FIN_BLOCKING void sends(void *unused) {
    uint32_t id;
    for (int i = 0; i < 3; i++)
        CHECK_EQ(fin_rpc_send_nc(near, bytes, HALF, &id), 0);
    fin_rpc_call_on(near, bytes, HALF, answer, sizeof answer, &on, ended, &unused, sizeof unused);
}

static FIN_BLOCKING void near_side(void *unused) {
    (void)unused;
    fin_sleep_nc(FIN_MS);
    fin_finish {
        for (int i = 0; i < ACCEPTERS; i++)
            fin_async_call(accepts_one, requests[i]);
        fin_async_call(sends, NULL);
    }
}

static FIN_BLOCKING void reads(void *unused) {
    (void)unused;
    CHECK_EQ(fin_rpc_recv(near, early, answer, sizeof answer), -ECANCELED);
}

// More than fits: the last of them waits for room.
static FIN_BLOCKING void far_side(void *unused) {
    uint32_t id;
    (void)unused;
    for (int i = 0; i < SHORT; i++)
        CHECK_EQ(fin_rpc_send_nc(far, bytes, SOME, &id), 0);
    CHECK_EQ(fin_rpc_send_nc(far, bytes, LONG, &id), 0);
    CHECK_EQ(fin_rpc_reply_nc(far, theirs, bytes, LONG), 0);
}

static void open_both(enum kind kind) {
    uint32_t unanswered;
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_rpc_open(&near, a, 0), 0);
    CHECK_EQ(fin_rpc_open(&far, b, 0), 0);
    CHECK_EQ(fin_rpc_send(near, bytes, SOME, &unanswered), 0);
    CHECK_EQ(fin_rpc_accept(far, requests[0], sizeof bytes, &theirs), SOME);
    CHECK_EQ(fin_rpc_send(near, bytes, SOME, &early), 0);
    CHECK_EQ(fin_rpc_send(near, bytes, SOME, &late), 0);
    served = 0;
}

// Who reads goes, and before anybody has had a turn after that much has come.
static void scene(enum kind kind) {
    open_both(kind);
    fin_finish {
        fin_async_call(near_side, NULL);
        fin_finish_as(reading) {
            fin_async_call(reads, NULL);
            while (!near->reading || near->sleeper.id == 0)
                CHECK_EQ(fin_sleep(FIN_MS), 0);
            fin_cancel_as(reading);
            far_side(NULL);
        }
        while (served < SHORT + 1)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_rpc_stop(near, -EPIPE);
    }
    CHECK_EQ(near->keeps, 0);
    CHECK_EQ(fin_rpc_close(near), 0);
    CHECK_EQ(fin_rpc_close(far), 0);
}

int main(void) {
    alarm(50);
    for (enum kind kind = 0; kind < KINDS; kind++)
        scene(kind);
    return 0;
}
