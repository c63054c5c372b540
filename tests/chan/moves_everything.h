// SPDX-License-Identifier: BSD-2-Clause
// The channels of moves_everything.c, and what A does with them: it receives, acknowledges, has them change sets.
#ifndef FIN_TESTS_CHAN_MOVES_EVERYTHING_H
#define FIN_TESTS_CHAN_MOVES_EVERYTHING_H

#include <sched.h>

#include "chan.h"
#include "rounds.h"

enum { MOST = 8, SETS = 4, BURSTS = 40, LARGEST = 600 };

struct message {
    unsigned number, channel;
    unsigned char bytes[LARGEST];
};

// What A knows of a channel is guarded by its mutex: so handlers, and others, receive in order.
struct channel {
    int number;
    enum kind kind; // PAIR: the sender is in A; SOCKET: in B
    struct fin_chan *from, *to;
    struct fin_chan_options options;
    int fds[2];
    unsigned closed_after, sent, heard; // the sender's: burst, messages, those that are acknowledged
    struct fin_mutex mutex;
    unsigned received, acknowledged;
    bool ended;
};

// What A writes into the pipe of a sender that has closed a channel, once it was told of that.
struct report {
    int channel;
    unsigned received;
};

static struct channel channels[MOST];
static unsigned channel_count, set_count;
static struct fin_waitset *sets[SETS];
static int reports[KINDS][2], wakes[2];
static struct fin_event ends;
static unsigned handled; // events
static bool lax;         // channels leave sets and come back, too, while their handlers run
static bool calm;        // nobody looks without need
static bool nexts;       // events are taken alone
static bool alerted;     // only alerts make anybody handle
static bool with_fds, kills;
static __thread unsigned own_seed;

// By the higher bits: what is by chance in a round is to differ in many rounds.
static inline unsigned pick(unsigned *state, unsigned of) { return (next_random(state) >> 8) % of; }
static inline unsigned chance(unsigned of) { return pick(&own_seed, of); }

#define HOLDS(c, condition) HOLDS_OF("channel", (c)->number, condition, #condition)

static inline void spin(void) {
    unsigned most = chance(4) ? 20000 : 200;
    for (unsigned volatile n = chance(most); n; n--) {
    }
}

static inline void pause_here(void) {
    switch (chance(6)) {
    case 0:
        fin_yield();
        break;
    case 1:
        fin_sleep_nc(chance(100) * FIN_US);
        break;
    case 2:
        spin();
        break;
    case 3:
        sched_yield();
        break;
    }
}

static size_t size_of(const struct channel *c, unsigned number) {
    unsigned state = seed * 31 + (unsigned)c->number * 131 + number * 77;
    return offsetof(struct message, bytes) + (pick(&state, 4) ? 0 : pick(&state, LARGEST));
}

// ---- receiving

static void check_message(struct channel *c, const struct message *m, ssize_t n) {
    HOLDS(c, m->number == c->received && m->channel == (unsigned)c->number);
    HOLDS(c, (size_t)n == size_of(c, m->number));
    HOLDS(c, filled(m->bytes, (size_t)n - offsetof(struct message, bytes), m->number));
    c->received++;
}

static void has_ended(struct channel *c, ssize_t n) {
    struct report report = {c->number, c->received};
    HOLDS(c, n == -ESHUTDOWN || (n == -ECONNRESET && kills && c->kind == SOCKET));
    c->ended = true;
    HOLDS(c, fin_chan_close(c->to) == 0);
    HOLDS(c, write(reports[c->kind][1], &report, sizeof report) == sizeof report);
    fin_event_advance(&ends, 1);
}

static ssize_t receive_peeked(struct channel *c, struct message *m) {
    const void *bytes;
    ssize_t n = fin_chan_try_peek(c->to, &bytes);
    if (n < 0)
        return n;
    memcpy(m, bytes, (size_t)n);
    HOLDS(c, fin_chan_release(c->to) == 0);
    return n;
}

static ssize_t receive_fds(struct channel *c, struct message *m) {
    int fds[2];
    unsigned count = 2;
    ssize_t n = fin_chan_try_recv_fds(c->to, m, sizeof *m, fds, &count);
    while (n >= 0 && count)
        close(fds[--count]);
    return n;
}

// The handler must not return without the end that it was called for: that is told once.
static ssize_t receive_waiting(struct channel *c, struct message *m) {
    ssize_t n = -ECANCELED;
    fin_timeout(chance(200) * FIN_US) {
        n = fin_chan_recv(c->to, m, sizeof *m);
    }
    return n == -ECANCELED ? fin_chan_try_recv(c->to, m, sizeof *m) : n;
}

// True: it may have more.
static bool receive(struct channel *c, bool may_wait) {
    struct message m;
    unsigned way = chance(may_wait ? 5 : 4);
    ssize_t n = way == 0   ? receive_peeked(c, &m)
                : way == 1 ? receive_fds(c, &m)
                : way == 4 ? receive_waiting(c, &m)
                           : fin_chan_try_recv(c->to, &m, sizeof m);
    if (n >= 0)
        check_message(c, &m, n);
    else if (n != -EAGAIN)
        has_ended(c, n);
    return n >= 0;
}

// The sender hears of all messages before it sends more: so there is room. It may have closed the channel.
static void acknowledge(struct channel *c) {
    if (c->ended || c->acknowledged == c->received)
        return;
    int r = fin_chan_try_send(c->to, &c->received, sizeof c->received);
    HOLDS(c, r == 0 || r == -EPIPE);
    c->acknowledged = c->received;
}

// ---- changing sets: with the channel's mutex

static void handle(void *channel);

static struct fin_waitset *some_set(void) { return sets[chance(set_count)]; }

static void move(struct channel *c) {
    HOLDS(c, fin_waitset_move(some_set(), c->to) == 0);
}

static void leave_and_come_back(struct channel *c) {
    for (unsigned i = 0; i < set_count; i++)
        fin_waitset_remove(sets[i], c->to);
    if (chance(2))
        spin();
    HOLDS(c, fin_waitset_add(some_set(), c->to, handle, c) == 0);
}

static void change_set(struct channel *c) {
    if (lax && chance(3) == 0)
        leave_and_come_back(c);
    else
        move(c);
}

static void take_some(struct channel *c) {
    bool more = true, may_wait = !lax && !nexts && !alerted;
    for (unsigned n = 1 + chance(8); n && more; n--)
        more = receive(c, may_wait && chance(6) == 0);
    if (!c->ended && chance(2))
        change_set(c);
    if (!alerted && chance(6) == 0)
        pause_here();
    acknowledge(c);
    if (!c->ended && !calm && chance(8) == 0)
        move(c);
}

static void handle(void *channel) {
    struct channel *c = channel;
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELEASE);
    fin_mutex_lock_nc(&c->mutex);
    if (!c->ended)
        take_some(c);
    fin_mutex_unlock(&c->mutex);
}

#endif
