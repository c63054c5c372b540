// SPDX-License-Identifier: BSD-2-Clause
// The senders of moves_everything.c: bursts, after each of which all is acknowledged, or its end told.
#ifndef FIN_TESTS_CHAN_MOVES_EVERYTHING_SEND_H
#define FIN_TESTS_CHAN_MOVES_EVERYTHING_SEND_H

#include "moves_everything.h"

enum { ACT = 1, COMPUTE_UNTIL_TOLD }; // what a sender tells an actor
enum { ACTORS = 4 };

static unsigned killed_after; // burst of B

static int send_reserved(struct channel *c, const struct message *m, size_t size) {
    void *room;
    if (chance(8) == 0) {
        HOLDS(c, fin_chan_reserve_nc(c->from, sizeof *m, &room) == 0);
        fin_chan_abandon(c->from);
    }
    int r = fin_chan_reserve_nc(c->from, size, &room);
    if (r != 0)
        return r;
    memcpy(room, m, size);
    return fin_chan_commit(c->from, size);
}

static int send_somehow(struct channel *c, const struct message *m, size_t size) {
    int r = -ECANCELED, fd = 0;
    switch (chance(with_fds ? 6 : 4)) {
    case 0:
        r = fin_chan_try_send(c->from, m, size);
        return r == -EAGAIN ? fin_chan_send_nc(c->from, m, size) : r;
    case 1:
        while (r == -ECANCELED)
            fin_timeout(chance(300) * FIN_US) {
                r = fin_chan_send(c->from, m, size);
            }
        return r;
    case 2:
        return send_reserved(c, m, size);
    case 3:
        return fin_chan_send_nc(c->from, m, size);
    default:
        return fin_chan_send_fds_nc(c->from, m, size, &fd, 1);
    }
}

static void send_one(struct channel *c) {
    struct message m = {c->sent, (unsigned)c->number, {0}};
    size_t size = size_of(c, c->sent);
    fill(m.bytes, size - offsetof(struct message, bytes), c->sent);
    c->sent++;
    HOLDS(c, send_somehow(c, &m, size) == 0);
}

// ---- bursts

static void wake(char what) { CHECK_EQ(write(wakes[1], &what, 1), 1); }

static void wake_some(void) {
    if (alerted)
        wake(COMPUTE_UNTIL_TOLD);
    if (chance(4))
        for (unsigned n = chance(ACTORS + 1); n; n--)
            wake(ACT);
}

static bool sends_there(const struct channel *c, enum kind kind) { return c->kind == kind && c->from; }

static void send_burst(enum kind kind) {
    for (unsigned n = chance(8) ? 1 + chance(6) : 20 + chance(30); n; n--) {
        struct channel *c = &channels[chance(channel_count)];
        if (sends_there(c, kind))
            send_one(c);
        if (chance(12) == 0)
            pause_here();
    }
}

static void await_acknowledgement(struct channel *c) {
    while (c->heard != c->sent) {
        unsigned n;
        HOLDS(c, fin_chan_recv_nc(c->from, &n, sizeof n) == sizeof n);
        HOLDS(c, n > c->heard && n <= c->sent);
        c->heard = n;
    }
}

// Those whose time has come: in half of the cases while messages are under way.
static unsigned close_some(enum kind kind, unsigned burst) {
    unsigned closed = 0;
    for (struct channel *c = channels; c < channels + channel_count; c++) {
        if (!sends_there(c, kind) || c->closed_after > burst)
            continue;
        if (chance(2))
            await_acknowledgement(c);
        HOLDS(c, fin_chan_close(c->from) == 0);
        c->from = NULL;
        closed++;
    }
    return closed;
}

static void await_reports(enum kind kind, unsigned count) {
    struct report report;
    for (; count; count--) {
        CHECK_EQ(fin_read_nc(reports[kind][0], &report, sizeof report), sizeof report);
        CHECK_EQ(report.received, channels[report.channel].sent);
    }
}

static void sends(enum kind kind) {
    for (unsigned burst = 0; burst < BURSTS; burst++) {
        wake_some();
        if (chance(2))
            spin();
        send_burst(kind);
        if (kind == SOCKET && burst == killed_after)
            kill(getpid(), SIGKILL);
        unsigned closed = close_some(kind, burst);
        for (struct channel *c = channels; c < channels + channel_count; c++)
            if (sends_there(c, kind))
                await_acknowledgement(c);
        await_reports(kind, closed);
        if (chance(3) == 0)
            fin_sleep_nc(chance(600) * FIN_US); // all go idle
    }
}

#endif
