// SPDX-License-Identifier: BSD-2-Clause
// The channels of forms_everything.c: what goes over them, and what must hold of what has come. Of each message everything
// follows from its number, so a receiver knows what is to come; what the senders have sent, and in which bursts, stands in
// memory that both processes share.
#ifndef FIN_TESTS_CHAN_FORMS_EVERYTHING_H
#define FIN_TESTS_CHAN_FORMS_EVERYTHING_H

#include "operations.h"

#include <fin/trace.h>
#include <sys/stat.h>

enum { MOST = 4, THREADS = 3, ROLES = 3, BURSTS = 6, NUMBERS = 4096, FILES = 5, CHILDREN = 2 };
enum { GONE = 1000 };       // added to the bursts that are acknowledged
enum { IN_ROOM = 64 << 10 }; // a message

enum what { ANONYMOUS, PLAIN, WITH_FDS, REGION, MARKER };

struct header {
    uint32_t number;
    uint8_t sender, what;
    uint16_t fds; // or `again` of an answer
};

struct plan {
    enum what what;
    size_t size;
    unsigned fds;
};

// The one that sends at end[side].
struct direction {
    struct channel *c;
    int side, acks[2];
    unsigned number, senders, receivers;
    struct fin_event acknowledged, all_marked; // bursts, for its senders and its receivers
    unsigned arrived, marked;      // of senders and receivers, in this burst
    unsigned lost;                 // how often a receiver was told of a lack of descriptors
    unsigned char seen[ROLES][NUMBERS];
    unsigned anonymous[8], checked[ROLES], expected[8];
};

struct end {
    struct fin_chan *chan;
    unsigned flags, left;   // roles
    int sends_at, receives_at; // threads
};

struct channel {
    int number;
    enum kind kind;
    bool named, talks, offered_by_b;
    size_t size;
    unsigned closes_first; // side
    int fds[2];
    struct end end[2];
    struct direction way[2];
};

// One that sends or receives: an AWE.
struct role {
    struct channel *c;
    struct direction *d;
    struct end *e;
    unsigned index, burst;
    bool sends, hasty; // hasty: nothing more may come
    unsigned left; // operations of this burst that may be cancelled
    unsigned next; // number
    unsigned last[ROLES];
    unsigned char *buffer;
};

static struct channel channels[MOST];
static unsigned channel_count, thread_count[2];
static bool forks, traces, with_fds, with_regions, small_sizes, named_any;
static unsigned killed_after; // operations of B
static int files[FILES];
static ino_t inodes[FILES];
static int over[2]; // closed when the round is

static struct shared {
    unsigned sent[MOST][2][ROLES], operations;
    pid_t b;
    bool listens;
} *shared;

#define HOLDS(c, condition) HOLDS_OF("channel", (c)->number, (condition) || says((c), 0), #condition)
// Of a result, which is shown.
#define TOLD(c, result, condition) HOLDS_OF("channel", (c)->number, (condition) || says((c), (result)), #condition)
static bool says(const struct channel *c, ssize_t result);
static bool says(const struct channel *c, ssize_t result) {
    fprintf(stderr, "%s: kind %d named %d talks %d closes first %u size %zu flags %x %x; ", in_b ? "B" : "A", (int)c->kind,
            c->named, c->talks, c->closes_first, c->size, c->end[0].flags, c->end[1].flags);
    fprintf(stderr, "kills %d starves %d forks %d traces %d: %zd\n", kills, starves, forks, traces, result);
    return false;
}

// ---- messages

static size_t some_size(unsigned *state, size_t most) {
    size_t n;
    switch (small_sizes ? pick(state, 2) : pick(state, 6)) {
    case 0:
        n = 8 + pick(state, 56);
        break;
    case 1:
        n = 40 + pick(state, 24); // about a line
        break;
    case 2:
        n = 57 + pick(state, 600);
        break;
    case 3:
        n = 1024 - 72 + pick(state, 144); // where they become long ones
        break;
    case 4:
        n = most - pick(state, 80);
        break;
    default:
        n = 8 + pick(state, (unsigned)most - 8);
    }
    return n < most ? n : most;
}

static struct plan plan_of(const struct direction *d, unsigned sender, unsigned number) {
    unsigned state = seed * 31 + d->number * 131 + sender * 7001 + number * 77;
    size_t most = d->c->size / 2 - 64;
    unsigned kind = pick(&state, 16);
    if (kind < 3)
        return (struct plan){ANONYMOUS, pick(&state, 8), 0};
    if (kind == 3 && with_regions)
        return (struct plan){REGION, 16, 1};
    if (kind < 7 && with_fds)
        return (struct plan){WITH_FDS, some_size(&state, most), 1 + (pick(&state, 3) ? pick(&state, 3) : pick(&state, 16))};
    return (struct plan){PLAIN, some_size(&state, most), 0};
}

static size_t region_size(unsigned number) { return number % 3 ? 4096 + number * 997 % 100000 : (1u << 20) + number; }
static int file_of(unsigned number, unsigned i) { return (int)((number * 7 + i * 3) % FILES); }

// Some have what might be taken for the header of a message, in each place where one may be when the ring has been gone
// around.
static void fill_in(unsigned char *p, size_t size, unsigned number) {
    fill(p, size, number);
    for (size_t i = 0; number % 4 == 1 && (i + 1) * sizeof(uint64_t) <= size; i++) {
        uint64_t lap = 1 + (number / 4 + i / 8) % 12, like_header = (uint64_t)24 << 32 | lap << 8 | 1;
        memcpy(p + i * sizeof like_header, &like_header, sizeof like_header);
    }
}

static bool filled_in(const unsigned char *p, size_t size, unsigned number) {
    static __thread unsigned char expected[IN_ROOM];
    fill_in(expected, size, number);
    return memcmp(p, expected, size) == 0;
}

static void write_message(unsigned char *p, const struct plan *m, unsigned sender, unsigned number) {
    struct header h = {number, (uint8_t)sender, (uint8_t)m->what, (uint16_t)m->fds};
    if (m->what == ANONYMOUS) {
        memset(p, 0xa0 + (int)m->size, m->size);
        return;
    }
    memcpy(p, &h, sizeof h);
    fill_in(p + sizeof h, m->size - sizeof h, number + sender);
}

static unsigned sent(const struct direction *d, unsigned sender) {
    return READ(shared->sent[d->c->number][d->side][sender]);
}

// ---- the model of a direction, at its receivers

static bool has_name(const struct direction *d, unsigned sender, unsigned number) {
    return plan_of(d, sender, number).what != ANONYMOUS;
}

// Those of a sender come in order; where it is the only one, and the receiver, too, also those without a number.
static void in_order(struct role *r, unsigned sender, unsigned number) {
    const struct direction *d = r->d;
    HOLDS(r->c, number >= r->last[sender]);
    if (d->receivers == 1)
        for (unsigned n = r->last[sender]; n < number; n++)
            HOLDS(r->c, !has_name(d, sender, n) && d->senders > 1);
    r->last[sender] = number + 1;
}

static void came_anonymous(struct role *r, const unsigned char *p, size_t size) {
    struct direction *d = r->d;
    for (size_t i = 0; i < size; i++)
        HOLDS(r->c, p[i] == 0xa0 + size);
    if (d->receivers == 1 && d->senders == 1) {
        struct plan m = plan_of(d, 0, r->last[0]);
        HOLDS(r->c, m.what == ANONYMOUS && m.size == size);
        r->last[0]++;
    }
    ADD(d->anonymous[size], 1);
}

// What came with a message is the caller's to close.
static void came(struct role *r, const unsigned char *p, size_t size) {
    struct direction *d = r->d;
    struct header h;
    if (size < sizeof h) {
        came_anonymous(r, p, size);
        return;
    }
    memcpy(&h, p, sizeof h);
    HOLDS(r->c, h.sender < d->senders && h.number < NUMBERS);
    struct plan m = plan_of(d, h.sender, h.number);
    HOLDS(r->c, h.what == m.what && h.fds == m.fds && size == m.size);
    HOLDS(r->c, filled_in(p + sizeof h, size - sizeof h, h.number + h.sender));
    HOLDS(r->c, ADD(d->seen[h.sender][h.number], 1) == 1);
    in_order(r, h.sender, h.number);
}

// All that was sent has come, and only that. Nobody receives there any more, or all have been told of the burst's end.
static void check_all(struct direction *d, bool exactly) {
    unsigned anonymous = 0, expected = 0;
    for (unsigned s = 0; s < d->senders; s++) {
        unsigned n = d->checked[s], until = sent(d, s);
        for (; n < until; n++) {
            struct plan m = plan_of(d, s, n);
            if (m.what == ANONYMOUS)
                d->expected[m.size]++;
            else
                HOLDS(d->c, READ(d->seen[s][n]) == 1);
        }
        d->checked[s] = n;
        HOLDS(d->c, !exactly || d->seen[s][n] == 0);
    }
    for (int i = 0; i < 8; i++) {
        anonymous += READ(d->anonymous[i]);
        expected += d->expected[i];
        HOLDS(d->c, !exactly || READ(d->anonymous[i]) == d->expected[i]);
    }
    HOLDS(d->c, anonymous >= expected); // of one that was killed it may not be known that it has sent one more
}

static void forks_child(void);

// While there is a trace no end has its quick halves.
static void start_or_stop_trace(void) {
    int r = chance(2) ? fin_trace_start("/dev/null") : fin_trace_stop();
    CHECK(r == 0 || r == -EALREADY || r == -EINVAL || is_short(r));
}

// Who has a reservation, or peeks, keeps the end open.
static void may_not_close(const struct role *r) {
    const struct end *e = r->e;
    if (r->left && !(e->flags & FIN_CHAN_SHARED) && e->sends_at == e->receives_at && chance(4) == 0)
        HOLDS(r->c, fin_chan_close(e->chan) == -EBUSY);
}

// What may befall a process besides, before an operation. B is killed here, or by A.
static void befall(const struct role *r) {
    if (in_b && kills && READ(shared->b) && ADD(shared->operations, 1) == killed_after)
        kill(getpid(), SIGKILL);
    if (!r->left)
        return;
    if (starves && chance(12) == 0)
        starve();
    if (forks && chance(12) == 0)
        forks_child();
    if (traces && chance(6) == 0)
        start_or_stop_trace();
}

#endif
