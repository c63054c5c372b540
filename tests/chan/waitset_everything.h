// SPDX-License-Identifier: BSD-2-Clause
// The channels of waitset_everything.c, who sends through them, and what handlers do with what comes.
#ifndef FIN_TESTS_CHAN_WAITSET_EVERYTHING_H
#define FIN_TESTS_CHAN_WAITSET_EVERYTHING_H

#include "chan.h"
#include "rounds.h"

enum { THREADS = 3, MOST = 14, SETS = 3, SOURCES = 3, LARGEST = 1500 };

struct message {
    unsigned number, channel;
    unsigned char bytes[LARGEST];
};

struct channel {
    int number, sender; // thread of A, or B
    enum kind kind;
    struct fin_chan *from, *to;
    int fds[2];
    unsigned seed, count, received, inside;
    struct fin_mutex mutex; // whoever closes it, or moves it from outside of its handler
    bool ended, was_killed;
};

struct source {
    struct fin_waitset_source source;
    unsigned wanted, handled;
};

enum { B = THREADS };
static struct channel channels[MOST];
static unsigned channel_count;
static struct fin_waitset *sets[SETS]; // the first one is thread 0's alone
static struct source sources[SOURCES];
static struct fin_waitset *alerting; // of one source, whose handler does not wait
static struct source alert;
static struct fin_event ends;
static bool lax; // channels leave sets and come back while their handlers run
static bool kills, monitors, over;
static bool calm; // nobody looks without need
static unsigned ended; // channels
static __thread unsigned own_seed;

static inline unsigned chance(unsigned of) { return below(&own_seed, of); }

#define HOLDS(e, condition) HOLDS_OF("channel", (e)->number, condition, #condition)

static inline size_t size_of(const struct channel *e, unsigned n) {
    unsigned state = e->seed + n * 77;
    unsigned k = below(&state, 16);
    return offsetof(struct message, bytes) + (k < 12 ? below(&state, 40) : below(&state, k < 15 ? 300 : LARGEST));
}

static inline void pause_here(void) {
    unsigned n = chance(8);
    if (n < 5)
        for (; n; n--)
            fin_yield();
    else
        fin_sleep_nc(n == 5 ? 1 : chance(60000));
}

// ---- sending

static int send_somehow(struct channel *e, const struct message *m, size_t size) {
    int r = -EAGAIN;
    switch (chance(4)) {
    case 0:
        while ((r = fin_chan_try_send(e->from, m, size)) == -EAGAIN)
            pause_here();
        return r;
    case 1:
        while (r == -EAGAIN || r == -ECANCELED)
            fin_timeout(chance(200) * FIN_US) {
                r = fin_chan_send(e->from, m, size);
            }
        return r;
    default:
        return fin_chan_send_nc(e->from, m, size);
    }
}

static void sends(void *channel) {
    struct channel *e = channel;
    struct message *m = malloc(sizeof *m);
    unsigned hurry = 1 + chance(40);
    for (unsigned n = 0; n < e->count; n++) {
        size_t size = size_of(e, n);
        m->number = n;
        m->channel = (unsigned)e->number;
        fill(m->bytes, size - offsetof(struct message, bytes), n);
        HOLDS(e, send_somehow(e, m, size) == 0);
        if (chance(hurry) == 0)
            pause_here();
    }
    HOLDS(e, fin_chan_close(e->from) == 0);
    free(m);
}

// ---- receiving

static void check_message(struct channel *e, const struct message *m, ssize_t n) {
    HOLDS(e, m->number == e->received && m->channel == (unsigned)e->number);
    HOLDS(e, (size_t)n == size_of(e, m->number));
    HOLDS(e, filled(m->bytes, (size_t)n - offsetof(struct message, bytes), m->number));
    e->received++;
}

static void has_ended(struct channel *e, ssize_t n) {
    HOLDS(e, n == -ESHUTDOWN || (n == -ECONNRESET && kills && e->sender == B));
    HOLDS(e, e->received == e->count || (kills && e->sender == B));
    if (!lax)
        fin_mutex_lock_nc(&e->mutex);
    e->ended = true;
    HOLDS(e, fin_chan_close(e->to) == 0);
    if (!lax)
        fin_mutex_unlock(&e->mutex);
    __atomic_fetch_add(&ended, 1, __ATOMIC_RELEASE);
    fin_event_advance(&ends, 1);
}

// True: it may have more.
static bool receive(struct channel *e, bool is_first, bool may_wait) {
    struct message m;
    const void *bytes;
    ssize_t n;
    unsigned way = chance(may_wait && !is_first ? 4 : 3);
    if (way == 0) {
        n = fin_chan_try_peek(e->to, &bytes);
        if (n >= 0) {
            memcpy(&m, bytes, (size_t)n);
            if (may_wait && chance(4) == 0)
                pause_here();
            HOLDS(e, fin_chan_release(e->to) == 0);
        }
    } else {
        n = way == 3 ? fin_chan_recv(e->to, &m, sizeof m) : fin_chan_try_recv(e->to, &m, sizeof m);
    }
    HOLDS(e, n != -EAGAIN || !is_first || lax);
    if (n >= 0)
        check_message(e, &m, n);
    else if (n != -EAGAIN && n != -ECANCELED)
        has_ended(e, n);
    return n >= 0;
}

static struct fin_waitset *some_set(const struct channel *e) { return sets[e->kind == LOCAL ? 0 : chance(SETS)]; }

static void handle(void *channel);

// As the last thing that its handler does.
static void change_set(struct channel *e) {
    unsigned way = chance(12);
    int r = 0;
    if (way < 2)
        r = fin_waitset_move(some_set(e), e->to);
    if (way < 2 && !lax)
        HOLDS(e, r == 0 || __atomic_load_n(&over, __ATOMIC_RELAXED));
    if (way != 2 || !lax)
        return;
    for (int i = 0; i < SETS; i++)
        fin_waitset_remove(sets[i], e->to);
    r = fin_waitset_add(some_set(e), e->to, handle, e);
    HOLDS(e, r == 0 || r == -EBUSY);
}

static void take_some(struct channel *e, bool may_wait) {
    bool more = receive(e, true, may_wait);
    for (unsigned n = chance(4); n && more; n--)
        more = receive(e, false, may_wait);
    if (e->ended)
        return;
    if (chance(16) == 0)
        pause_here();
    change_set(e);
    if (!lax && chance(16) == 0)
        pause_here();
}

static void handle(void *channel) {
    struct channel *e = channel;
    if (lax)
        fin_mutex_lock_nc(&e->mutex);
    else
        HOLDS(e, __atomic_exchange_n(&e->inside, 1, __ATOMIC_ACQ_REL) == 0);
    HOLDS(e, !e->ended || lax);
    if (!e->ended)
        take_some(e, !lax);
    if (lax)
        fin_mutex_unlock(&e->mutex);
    else
        HOLDS(e, __atomic_exchange_n(&e->inside, 0, __ATOMIC_ACQ_REL) == 1);
}

// ---- sources

static void handle_source(void *source) {
    struct source *s = source;
    if (__atomic_exchange_n(&s->wanted, 0, __ATOMIC_ACQ_REL))
        __atomic_fetch_add(&s->handled, 1, __ATOMIC_RELAXED);
    if (s != &alert && chance(8) == 0)
        pause_here();
}

// Once until it is handled.
static void trigger(struct source *s) {
    if (__atomic_load_n(&s->wanted, __ATOMIC_ACQUIRE))
        return;
    __atomic_store_n(&s->wanted, 1, __ATOMIC_RELEASE);
    fin_waitset_trigger(&s->source);
}

#endif
