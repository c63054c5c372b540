// SPDX-License-Identifier: BSD-2-Clause
// Clients of a quote server. They subscribe one by one, spread evenly over a period, so that the server's work is, too.
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "../../examples/server.h"
#include "load.h"

static int begin(struct load *l) {
    l->subscribed = 0;
    return 0;
}

static void grown(struct load *l, int from) {
    l->spread_from = l->subscribed = from;
    l->spread_begin = load_now();
}

static void subscribe(struct load *l, struct client *c, uint64_t now) {
    uint32_t price = 10000;
    c->since = now;
    c->subscribed = true;
    if (c->fd >= 0 && send(c->fd, &price, sizeof price, MSG_NOSIGNAL) != sizeof price)
        load_lost(l, c, errno);
}

static uint64_t tick(struct load *l, uint64_t now) {
    if (l->settled < l->wanted || l->subscribed == l->wanted)
        return UINT64_MAX;
    uint64_t period = quote_period(), count = (uint64_t)(l->wanted - l->spread_from), gone = now - l->spread_begin;
    uint64_t due = gone >= period ? count : 1 + (count - 1) * gone / period;
    while (l->subscribed < l->spread_from + (int)due)
        subscribe(l, &l->clients[l->subscribed++], now);
    return now + 1000000;
}

// A quote is late when the next one should have come.
static void ready(struct load *l, struct client *c) {
    struct quote quotes[8];
    for (;;) {
        ssize_t n = recv(c->fd, quotes, sizeof quotes - c->got, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            load_lost(l, c, n < 0 ? errno : 0);
            return;
        }
        size_t whole = (c->got + (size_t)n) / sizeof *quotes;
        uint64_t now = load_now();
        for (size_t i = 0; i < whole; i++) {
            uint64_t due = c->since + c->number * quote_period();
            if (c->got == 0 && quotes[i].number != c->number) {
                load_lost(l, c, EBADMSG);
                return;
            }
            c->number++;
            load_done(l, now > due ? now - due : 0, now > due + quote_period());
        }
        c->got = (uint32_t)((c->got + (size_t)n) % sizeof *quotes);
        if ((size_t)n < sizeof quotes / 2)
            return; // there is hardly more: another call would only say so
    }
}

const struct kind load_quotes = {"quotes", begin, grown, tick, ready};
