// SPDX-License-Identifier: BSD-2-Clause
// The sides of rpc_everything.c, what they ask one another, and what is counted.
#ifndef FIN_TESTS_CHAN_RPC_EVERYTHING_H
#define FIN_TESTS_CHAN_RPC_EVERYTHING_H

#include "rounds.h"
#include "rpc.h"
#include "chan/rpc.h"

enum { LARGEST = 1900, OLD = 16, HOARD_MOST = 4096 };

// What the server is to do before it answers. Those behind HOWS are not by chance.
enum how { PLAIN, AGAIN, YIELDS, SLEEPS, NESTED, TWICE, STALE, LATER, ELSEWHERE, ENDS, HOWS, HOARD, FLUSH, DONE, FINAL };

struct request {
    uint32_t how, answer_size;
    uint64_t x;
    uint32_t depth, size; // of all of it
};

struct hoarded {
    uint32_t id;
    struct request q;
};

struct thread {
    bool may_die; // by its own will, closing its ends: nothing there waits for what cannot be cancelled
    unsigned seed;
};

enum base { SERVE, SERVE_ON, ACCEPT, ACCEPT_ON, POLL, GROUP, BASES };

struct side {
    struct fin_rpc *rpc;
    struct thread *thread;
    int number;
    bool calls, serves, client, shared, peer_calls;
    enum base base;
    unsigned seed, in_work;
    uint64_t serial;
    uint64_t answers;            // sent from here
    uint64_t got, lost, unheard; // answers: received; too long for a call; had come when they were given up
    uint32_t old[OLD], olds;     // ids that were answered
    struct hoarded *hoard;
    unsigned hoarded;
    bool peer_done, final_asked, final_told, broken, over, in_group, grouped;
};

static unsigned violence;
enum { NO_VIOLENCE, EXITS, IS_KILLED, B_CLOSES, THREAD_CLOSES, VIOLENCES };

#define HOLDS(s, condition) HOLDS_OF("side", (s)->number, condition, #condition)
#define EQUALS(s, a, b)                                                                                                     \
    do {                                                                                                                    \
        long long a_ = (long long)(a), b_ = (long long)(b);                                                                 \
        if (a_ != b_)                                                                                                       \
            fprintf(stderr, "seed %u, side %d: %s, %s\n", seed, (s)->number, #a, #b);                                       \
        CHECK_EQ(a_, b_);                                                                                                   \
    } while (0)

static inline unsigned chance(struct side *s, unsigned of) { return below(&s->seed, of); }

static inline bool is_end(ssize_t n) { return n == -EPIPE || n == -ESHUTDOWN || n == -ECONNRESET; }

static unsigned char pattern[LARGEST + 256];
static inline const unsigned char *bytes_of(uint64_t x) { return pattern + (x * 31 >> 3) % 251; }

static inline void make_pattern(void) {
    for (unsigned i = 0; i < sizeof pattern; i++)
        pattern[i] = (unsigned char)(i * 7 + i / 251);
}

static inline size_t make_answer(unsigned char *out, const struct request *q) {
    uint64_t y = answer_to(q->x);
    memcpy(out, &y, sizeof y);
    memcpy(out + sizeof y, bytes_of(q->x), q->answer_size - sizeof y);
    return q->answer_size;
}

// The other side is gone: that happens only where one of them is to go, or all is said.
static inline void ends(struct side *s, ssize_t n) {
    if (n == -ECANCELED && s->thread->may_die)
        return;
    if (!violence && is_end(n) && (!s->calls || s->final_asked) && (!s->peer_calls || s->final_told))
        return;
    if (!is_end(n) || !violence)
        fprintf(stderr, "seed %u, side %d: it is %zd\n", seed, s->number, n);
    HOLDS(s, is_end(n) && violence);
    s->broken = true;
}

static inline uint32_t in_use(const struct fin_rpc *r) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->count; i++)
        n += r->calls[i].state != CALL_FREE;
    return n;
}

static inline int state_of(const struct fin_rpc *r, uint32_t id) {
    uint32_t i = fin_rpc_index(id);
    return i < r->count && r->calls[i].id == id ? (int)r->calls[i].state : CALL_FREE;
}

static inline void pause_here(struct side *s) {
    unsigned n = chance(s, 8);
    if (n < 5)
        for (; n; n--)
            fin_yield();
    else
        fin_sleep_nc(n == 5 ? 1 : chance(s, 100000));
}

// ---- answers

static inline void count_answer(struct side *s, int r) {
    if (r == 0)
        __atomic_fetch_add(&s->answers, 1, __ATOMIC_RELAXED);
    else
        ends(s, r);
}

static inline bool send_answer(struct side *s, uint32_t id, const void *bytes, size_t size) {
    int r = fin_rpc_reply(s->rpc, id, bytes, size);
    if (r == -ECANCELED) {
        HOLDS(s, fin_cancelled());
        if (s->thread->may_die)
            return false;
        r = fin_rpc_reply_nc(s->rpc, id, bytes, size);
    }
    count_answer(s, r);
    return r == 0;
}

static inline void answer(struct side *s, uint32_t id, const struct request *q) {
    unsigned char out[LARGEST];
    if (send_answer(s, id, out, make_answer(out, q)))
        s->old[s->olds++ % OLD] = id;
}

// To no call, or to one that has had its answer.
static inline void answer_nobody(struct side *s, uint32_t id) {
    uint32_t to[] = {0, UINT32_MAX, id ^ 0x80000000u, id + 3 * FIN_RPC_MOST, s->old[chance(s, OLD)], s->old[chance(s, OLD)]};
    unsigned char wrong[40];
    memset(wrong, 0xee, sizeof wrong);
    send_answer(s, to[chance(s, 6)], wrong, 8 + chance(s, 32));
}

static void flush(struct side *s) {
    while (s->hoarded) {
        struct hoarded h = s->hoard[--s->hoarded];
        answer(s, h.id, &h.q);
    }
}

// ---- questions

struct ask {
    struct side *side;
    struct fin_rpc_on on;
    uint32_t id;
    bool nc;
    size_t room;
    ssize_t n;
    struct request q;
    unsigned char body[LARGEST], answer[LARGEST + 8];
};

static void make_ask(struct ask *k, struct side *s, enum how how, unsigned depth) {
    size_t largest = fin_rpc_most(s->rpc);
    largest = largest < LARGEST ? largest : LARGEST;
    unsigned in = chance(s, 8), out = chance(s, 8);
    k->side = s;
    k->id = 0;
    k->nc = false;
    k->q.x = (uint64_t)s->number << 48 | ++s->serial;
    k->q.how = how;
    k->q.depth = depth;
    k->q.size = (uint32_t)(sizeof k->q + (in < 4 ? 0 : chance(s, in < 7 ? 40 : (unsigned)(largest - sizeof k->q + 1))));
    k->q.answer_size = (uint32_t)(8 + (out < 4 ? 0 : chance(s, out < 7 ? 60 : (unsigned)(largest - 8 + 1))));
    memcpy(k->body, bytes_of(k->q.x), k->q.size - sizeof k->q);
    k->room = chance(s, 16) ? sizeof k->answer : chance(s, k->q.answer_size);
    memset(k->answer, 0xdd, sizeof k->answer);
}

_Static_assert(offsetof(struct ask, body) == offsetof(struct ask, q) + sizeof(struct request), "one after the other");

static void has_answer(struct ask *k, ssize_t n) {
    struct side *s = k->side;
    unsigned char right[LARGEST];
    EQUALS(s, n, k->q.answer_size);
    HOLDS(s, k->room >= (size_t)n);
    HOLDS(s, memcmp(k->answer, right, make_answer(right, &k->q)) == 0);
    HOLDS(s, k->answer[n] == 0xdd);
    s->got++;
}

// `whole`: of a call; otherwise of a wait for an answer.
static void told(struct ask *k, ssize_t n, bool whole) {
    struct side *s = k->side;
    k->n = n;
    if (n >= 0) {
        has_answer(k, n);
    } else if (n == -EMSGSIZE) {
        HOLDS(s, k->room < k->q.answer_size);
        s->lost += whole;
    } else if (n == -ECANCELED) {
        HOLDS(s, !k->nc && fin_cancelled());
    } else {
        ends(s, n);
    }
}

// Nobody wants its answer.
static void forget(struct ask *k) {
    struct side *s = k->side;
    s->unheard += state_of(s->rpc, k->id) == CALL_ANSWERED;
    EQUALS(s, fin_rpc_forget(s->rpc, k->id), 0);
    EQUALS(s, fin_rpc_forget(s->rpc, k->id), -ESRCH);
    k->id = 0;
}

#endif
