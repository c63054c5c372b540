// SPDX-License-Identifier: BSD-2-Clause
// An end that calls and serves: rpc.c has those who wait and the requests, calls.c the table of this end's calls.
#ifndef FIN_CHAN_RPC_H
#define FIN_CHAN_RPC_H

#include <fin/awe.h>
#include <fin/rpc.h>

#include "chan/chan.h"

enum { RPC_REQUEST = 1, RPC_ANSWER = 2 };

// An AWE that waits; in its frame, or in the program's struct fin_rpc_on, and on the list of its end all that time.
struct waiting {
    struct waiting *next, *prev;
    struct fin_awe *awe; // while it is suspended, and does not read
    struct rpc_on *on;   // where it waits with a continuation
    uint32_t id;         // of the call whose answer it waits for; 0: for requests
    uint32_t request;    // id of the request that it was given
    bool decided, cancelled, keep;
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

struct fin_rpc {
    struct fin_chan *chan;
    struct waiting *first, *last;
    bool reading; // an AWE is in fin_chan_peek, or waits for what this thread sends; then it is
    struct waiting *reader;
    bool head; // a request is being peeked at, these are its
    uint32_t id;
    const char *bytes;
    size_t size;
    int end;         // 0, or why nothing comes any more
    unsigned inside; // dispatch loops, and polls that let others run
    bool client;
    struct call *calls;
    uint32_t count, free, last_free; // `free`: index of the first, or `count` where there is none
    uint64_t strays;
};

// rpc.c: nothing more comes, and all who wait are told so.
void fin_rpc_stop(struct fin_rpc *r, int why);
// Its pieces, for those who wait with a continuation.
void fin_rpc_end(struct fin_rpc *r, int why);
void fin_rpc_promote(struct fin_rpc *r);
void fin_rpc_join(struct fin_rpc *r, struct waiting *w);
void fin_rpc_unlink(struct fin_rpc *r, struct waiting *w); // where it waits the caller promotes another
void fin_rpc_handle(struct fin_rpc *r, const void *bytes, size_t n);
// A message that has not gone through the ring, where it is an answer, or a request that who reads waits for and has room
// for: then it is taken. That one's wait is over where it is `decided`.
bool fin_rpc_take(struct fin_rpc *r, struct waiting *reader, uint64_t word, const void *data, size_t size);
bool fin_rpc_settled(const struct fin_rpc *r, const struct waiting *w);
void fin_rpc_cancelled(void *waiting); // a cancel item
static inline bool fin_rpc_of_this_wait(ssize_t n) {
    return n == -ECANCELED || n == -EMFILE || n == -ENFILE || n == -ENOMEM;
}
// rpc_on.c: the answer that such a one waits for has come, and is where it wants it.
void fin_rpc_decided_on(struct fin_rpc *r, struct waiting *w);

// Waits for a request. Not negative: there was one at the head, or w was given it.
FIN_BLOCKING ssize_t fin_rpc_await_request(struct fin_rpc *r, struct waiting *w, bool nc);
// Takes the request at the head: its length, or -EMSGSIZE. Pre: there is one.
ssize_t fin_rpc_take_head(struct fin_rpc *r, void *request, size_t room, uint32_t *id);

// What one waits for, for which it has room.
static inline void fin_rpc_give(struct waiting *w, const void *bytes, size_t size) {
    if (size <= FIN_RPC_LINE)
        ump_copy_line(w->buffer, bytes, size);
    else
        memcpy(w->buffer, bytes, size);
    w->decided = true;
    w->result = (ssize_t)size;
}

// calls.c
// Makes a call. 0; -ENOSPC, -ENOMEM.
int fin_rpc_call_new(struct fin_rpc *r, uint32_t *id);
// It was not sent.
void fin_rpc_call_end(struct fin_rpc *r, uint32_t id);
// Its answer, where that has come; -EAGAIN: w waits for it from here on; -ESRCH, -EBUSY, -EMSGSIZE, -ENOMEM.
ssize_t fin_rpc_call_await(struct fin_rpc *r, struct waiting *w);
// Its waiter, who was not decided, goes.
void fin_rpc_call_leave(struct fin_rpc *r, uint32_t id);
// An answer has come. Its bytes may change while they are copied.
void fin_rpc_answered(struct fin_rpc *r, uint32_t id, const void *bytes, size_t size);
void fin_rpc_calls_end(struct fin_rpc *r);

#endif
