// SPDX-License-Identifier: BSD-2-Clause
// An end that calls and serves: rpc.c has those who wait and the requests, ask.c the calls with stacks, calls.c the table of
// this end's calls.
#ifndef FIN_CHAN_RPC_H
#define FIN_CHAN_RPC_H

#include <fin/awe.h>
#include <fin/rpc.h>

#include "chan/lmp.h"

enum { RPC_REQUEST = 1, RPC_ANSWER = 2 };
#define RPC_SLEEPS UINT32_MAX // in place of an id of a call
// Who never has to wait gives others a turn after so many messages that nobody asked for, and so many requests.
enum { FLOOD = 64, REQUESTS_A_TURN = 16 };

// An AWE that waits; in its frame, or in the program's struct fin_rpc_on, and on the list of its end all that time.
struct waiting {
    struct waiting *next, *prev;
    struct fin_awe *awe; // while it is suspended, and does not read
    struct rpc_on *on;   // where it waits with a continuation
    uint32_t id;         // of the call whose answer it waits for; 0: for requests
    uint32_t request;    // id of the request that it was given
    bool decided, cancelled, keep;
    bool now; // takes a request only from who hands it the processor, too
    void *buffer; // NULL, of one that waits for requests: it only wants to know
    size_t room;
    ssize_t result;
};

struct call {
    uint32_t id;   // index below, generation above; of the next use while it is free
    uint32_t next; // of the free ones, first come first
    enum { CALL_FREE, CALL_SENT, CALL_AWAITED, CALL_ANSWERED, CALL_FORGOTTEN } state;
    struct waiting *waiting; // awaited
    void *answer;            // answered; NULL: there was no memory
    size_t size;
};

// A request that has come, and is not taken.
struct asked {
    uint32_t id;
    size_t size; // as it was when it was checked
    const char *bytes;
};

struct fin_rpc {
    struct fin_chan *chan;
    struct waiting *first, *last;  // those that wait for requests, in the order of their arrival; then those for answers
    struct waiting *last_accepts;  // of the former
    bool reading; // an AWE is in fin_chan_peek, or waits for what this thread sends; then it is
    struct waiting *reader;
    bool head; // a request is being peeked at, which is
    struct asked at_head;
    struct kept *kept, *last_kept; // requests that came before it: requests.c
    unsigned keeps;
    size_t keeps_bytes;
    const struct asked *next; // the first of these, or NULL: there is none
    struct waiting sleeper;   // one that sleeps for room, among those that wait; see fin_rpc_sleeps
    bool again;               // it, or one that is to sleep, has slept before
    int end;         // 0, or why nothing comes any more
    unsigned inside; // dispatch loops, and polls that let others run
    bool client;
    bool left;   // thc_ipc.c: its channel is gone
    bool direct; // and: who reads another's answer lets that one run at once
    struct fin_awe *answered; // to whom the last answer went, if it waits with its stack
    struct call *calls;
    uint32_t count, free, last_free; // `free`: index of the first, or `count` where there is none
    uint64_t strays;
    struct request *spare; // serve_on.c
    unsigned spares;
};

// rpc.c: nothing more comes or goes, and all who wait are told so.
void fin_rpc_stop(struct fin_rpc *r, int why);
// The two halves of fin_rpc_poll: AWEs that read take what has come; then this one looks, and lets nobody run.
FIN_BLOCKING void fin_rpc_let_read(struct fin_rpc *const *group, unsigned count);
ssize_t fin_rpc_poll_now(struct fin_rpc *r, void *request, size_t room, uint32_t *id);
// Its pieces, for those who wait with a continuation.
void fin_rpc_end(struct fin_rpc *r, int why);
void fin_rpc_read_now(struct fin_rpc *r); // what is there, up to a request, unless an AWE reads
void fin_rpc_promote(struct fin_rpc *r);
void fin_rpc_handle(struct fin_rpc *r, const void *bytes, size_t n);
void fin_rpc_cancelled(void *waiting); // a cancel item
static inline void fin_rpc_join(struct fin_rpc *r, struct waiting *w) {
    if (FIN_LIKELY(!r->first)) {
        w->prev = w->next = NULL;
        r->first = r->last = w;
        r->last_accepts = w->id == 0 ? w : NULL;
        return;
    }
    struct waiting *after = w->id == 0 ? r->last_accepts : r->last;
    w->prev = after;
    w->next = after ? after->next : r->first;
    *(after ? &after->next : &r->first) = w;
    *(w->next ? &w->next->prev : &r->last) = w;
    if (w->id == 0)
        r->last_accepts = w;
}

// Where it waits the caller promotes another.
static inline void fin_rpc_unlink(struct fin_rpc *r, struct waiting *w) {
    if (FIN_LIKELY(r->first == w && r->last == w)) {
        r->first = r->last = r->last_accepts = NULL;
        return;
    }
    *(w->prev ? &w->prev->next : &r->first) = w->next;
    *(w->next ? &w->next->prev : &r->last) = w->prev;
    if (r->last_accepts == w)
        r->last_accepts = w->prev;
}

static inline void fin_rpc_leave(struct fin_rpc *r, struct waiting *w) {
    fin_rpc_unlink(r, w);
    if (FIN_UNLIKELY(r->first != NULL))
        fin_rpc_promote(r);
}

// Has what this one waits for happened? A result wins over a cancel that came at the same time.
static inline bool fin_rpc_settled(const struct fin_rpc *r, const struct waiting *w) {
    return w->decided || r->end != 0 || (w->id == 0 && r->next);
}

// Is there nothing to do before one waits for a message of this thread? (Who reads is on the list.)
static inline bool fin_rpc_can_read_here(const struct fin_rpc *r) {
    return FIN_LIKELY(!r->first && !r->next && r->end == 0) && plainly_here(r->chan);
}

// The call's result, the length of a request that it was given, 0 for one that is at the head, or why there will be none.
// Pre: it is on the list; it is not afterwards. An error ends the wait, unless that is over.
FIN_BLOCKING ssize_t fin_rpc_go_on_waiting(struct fin_rpc *r, struct waiting *w, ssize_t error, bool nc);

// Of one that reads with its stack.
bool fin_rpc_taken(struct lmp_waiter *w, uint64_t word, const void *data, size_t size);

// As lmp_wait_in and lmp_end, of an end where fin_rpc_can_read_here. The AWE is to stop between the two.
static inline void fin_rpc_begin_reading(struct fin_rpc *r, struct waiting *reader, struct lmp_waiter *w,
                                         struct fin_finish_block *block) {
    r->reading = true;
    r->reader = reader;
    lmp_begin(r->chan);
    lmp_wait_in(block, w, r->chan->in.ump.meeting, NULL, 0);
    w->on = FIN_LMP_TAKES;
    w->take = fin_rpc_taken;
    w->arg = r;
}

static inline ssize_t fin_rpc_end_reading(struct fin_rpc *r, struct lmp_waiter *w) {
    r->reading = false;
    return lmp_end(r->chan, w);
}

// rpc_on.c: the answer that such a one waits for has come, and is where it wants it.
void fin_rpc_decided_on(struct fin_rpc *r, struct waiting *w);
void fin_rpc_reader_decided_on(struct lmp_waiter *w); // the same of one that reads

void fin_rpc_spares_end(struct fin_rpc *r);

// Waits for a request. Not negative: there was one at the head, or w was given it.
FIN_BLOCKING ssize_t fin_rpc_await_request(struct fin_rpc *r, struct waiting *w, bool nc);

// Takes the next request: its length, or -EMSGSIZE. Pre: there is one.
ssize_t fin_rpc_take_request(struct fin_rpc *r, void *request, size_t room, uint32_t *id);
// requests.c
void fin_rpc_drop_kept(struct fin_rpc *r); // the first that is kept
static inline bool fin_rpc_sleeps(const struct fin_rpc *r) { return r->sleeper.id != 0; }
void fin_rpc_look(struct fin_rpc *r); // for that one

// What one waits for, for which it has room.
static inline void fin_rpc_give(struct waiting *w, const void *bytes, size_t size) {
    if (size <= FIN_RPC_LINE)
        ump_copy_line(w->buffer, bytes, size);
    else
        memcpy(w->buffer, bytes, size);
    w->decided = true;
    w->result = (ssize_t)size;
}

// Does it wait for a request, and has room for one of that size?
static inline bool fin_rpc_wants(const struct fin_rpc *r, const struct waiting *w, size_t size) {
    return w->id == 0 && w->buffer && size <= w->room && !r->client;
}

// calls.c: an answer has come. Its bytes may change while they are copied.
void fin_rpc_answered(struct fin_rpc *r, uint32_t id, const void *bytes, size_t size);

// A message that has not gone through the ring: in the AWE that sends, on the same thread, does what who reads would do,
// where it is an answer, or a request that that one waits for and has room for. Its wait is over where it is `decided`.
static inline bool fin_rpc_take(struct fin_rpc *r, struct waiting *reader, uint64_t word, const void *data, size_t size) {
    if ((uint32_t)word == RPC_ANSWER) {
        fin_rpc_answered(r, (uint32_t)(word >> 32), data, size);
    } else if ((uint32_t)word == RPC_REQUEST && fin_rpc_wants(r, reader, size) && !reader->now) {
        fin_rpc_give(reader, data, size);
        reader->request = (uint32_t)(word >> 32);
    } else {
        return false;
    }
    return true;
}

// The table of calls (calls.c). An id is an index and a generation above it.
enum { INDEX_BITS = 14, ID_BITS = 30 };
_Static_assert(FIN_RPC_MOST == 1 << INDEX_BITS, "an id has room for the index");

static inline uint32_t fin_rpc_index(uint32_t id) { return id & (FIN_RPC_MOST - 1); }

// Generations begin with 1, and after the last one again: no id is 0.
static inline uint32_t fin_rpc_next_generation(uint32_t id) {
    id = (id + FIN_RPC_MOST) & ((1u << ID_BITS) - 1);
    return id >= FIN_RPC_MOST ? id : id + FIN_RPC_MOST;
}

static inline void fin_rpc_put_back(struct fin_rpc *r, struct call *c) {
    uint32_t i = fin_rpc_index(c->id);
    c->id = fin_rpc_next_generation(c->id);
    c->state = CALL_FREE;
    c->next = r->count;
    *(r->free == r->count ? &r->free : &r->calls[r->last_free].next) = i;
    r->last_free = i;
}

// calls.c
// Makes a call. 0; -ENOSPC, -ENOMEM.
int fin_rpc_call_new(struct fin_rpc *r, uint32_t *id);
// It was not sent.
void fin_rpc_call_end(struct fin_rpc *r, uint32_t id);
// Its answer, where that has come; -EAGAIN: w waits for it from here on; -ESRCH, -EBUSY, -EMSGSIZE, -ENOMEM.
ssize_t fin_rpc_call_await(struct fin_rpc *r, struct waiting *w);
// Makes one that w waits for from here on. Pre: there is a free one.
static inline void fin_rpc_call_begin(struct fin_rpc *r, struct waiting *w) {
    struct call *c = &r->calls[r->free];
    r->free = c->next;
    c->state = CALL_AWAITED;
    c->waiting = w;
    w->id = c->id;
}
// Its waiter, who was not decided, goes.
void fin_rpc_call_leave(struct fin_rpc *r, uint32_t id);
void fin_rpc_calls_end(struct fin_rpc *r);

#endif
