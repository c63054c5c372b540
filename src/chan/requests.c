// SPDX-License-Identifier: BSD-2-Clause
// Requests that have come, and that nobody has taken yet. The first one stays in the channel, as its head, and so does what
// was sent after it: a side that asks for more than is done has to wait.
//
// Where both sides wait for room that might be for ever: in the way of each are requests which only the other can take, and
// the AWE that would is the one that waits, for room for an answer, or waits behind it. So who is to sleep for room first
// takes answers, tells what has been taken, and wakes who sleeps for room at the other side, who does the same. Who has been
// woken, and still finds no room, and has nothing to tell, takes requests out of the channel, and keeps them. Where an AWE
// reads meanwhile, that one looks for it (promote), when it comes to a request, or when it leaves. So of two that sleep, the
// one that looked last has woken the other; and each time a message has been taken, or it was the first time.
// (models/room.pml)
#include <stdlib.h>

#include "chan/rpc.h"

enum { MOST_BYTES = 16 << 20 }; // which are kept

struct kept {
    struct kept *next;
    struct asked asked;
    char bytes[];
};

// Pre: there is one.
void fin_rpc_drop_kept(struct fin_rpc *r) {
    struct kept *k = r->kept;
    r->kept = k->next;
    r->keeps--;
    r->keeps_bytes -= k->asked.size;
    r->next = r->kept ? &r->kept->asked : r->head ? &r->at_head : NULL;
    free(k);
}

// 0; -ENOMEM; -EPROTO: the other side has sent more than it may, and is to wait.
static int keep_head(struct fin_rpc *r) {
    const struct asked *a = &r->at_head;
    if (r->keeps == FIN_RPC_MOST)
        return -EPROTO;
    struct kept *k = r->keeps_bytes + a->size <= MOST_BYTES ? malloc(sizeof *k + a->size) : NULL;
    if (!k)
        return -ENOMEM;
    *k = (struct kept){NULL, {a->id, a->size, k->bytes}};
    memcpy(k->bytes, a->bytes, a->size);
    *(r->kept ? &r->last_kept->next : &r->kept) = k;
    r->last_kept = k;
    r->keeps++;
    r->keeps_bytes += a->size;
    r->next = &r->kept->asked;
    r->head = false;
    fin_chan_release(r->chan);
    return 0;
}

// Does somebody sleep for room there, who has not been woken since?
static bool other_sleeps(const struct fin_rpc *r) {
    const struct ump_rx *rx = &r->chan->in.ump;
    uint64_t armed = __atomic_load_n(&rx->peer->armed, __ATOMIC_RELAXED);
    return armed != 0 && armed != rx->rung;
}

// Has something been taken that the other side does not know of?
static bool has_news(const struct fin_rpc *r) { return r->chan->in.ump.tail != r->chan->in.ump.told; }

// Not while an AWE reads: that one has the turn.
static void tell_in_turn(struct fin_chan *c) {
    if (turn_enter(&c->in.turn)) {
        fin_ump_consumed(&c->in.ump);
        turn_leave(&c->in.turn);
    }
}

static void tell(struct fin_rpc *r) {
    if (r->head) // which has the turn
        fin_ump_consumed(&r->chan->in.ump);
    else
        tell_in_turn(r->chan);
}

// Up to a quarter of the ring: then the other side has been told. 0 or -ENOMEM.
static int keep_some(struct fin_rpc *r) {
    const struct ump_rx *rx = &r->chan->in.ump;
    uint64_t end = rx->tail + rx->lines / 4;
    int error = 0;
    while (r->head && error == 0 && rx->tail <= end && other_sleeps(r)) {
        error = keep_head(r);
        if (error == 0)
            fin_rpc_read_now(r);
    }
    return error == -ENOMEM ? error : 0;
}

// For the one that sleeps for room, or is to. 0 or -ENOMEM.
static int look(struct fin_rpc *r) {
    int error = 0;
    if (!r->head)
        fin_rpc_read_now(r);
    bool keeps = r->again && !has_news(r);
    if (keeps)
        error = keep_some(r);
    if (!keeps || has_news(r)) // nobody is woken again and again
        tell(r);
    return error;
}

// Where there is no memory all would sleep for ever.
void fin_rpc_look(struct fin_rpc *r) {
    if (look(r) != 0)
        fin_rpc_stop(r, -ENOMEM);
}

// A reply may be sent by another thread, which does not read here.
static bool of_this_thread(const struct fin_chan *c, uint64_t word) {
    return (uint32_t)word == RPC_REQUEST || !c->out.turn.shared;
}

int fin_rpc_no_room(struct fin_chan *c, uint64_t word, bool again) {
    struct fin_rpc *r = c->rpc;
    if (!of_this_thread(c, word)) {
        tell_in_turn(c);
        return 0;
    }
    r->again = again;
    int error = look(r);
    if (r->first)
        fin_rpc_promote(r);
    if (error == 0) {
        r->sleeper.id = RPC_SLEEPS;
        fin_rpc_join(r, &r->sleeper);
    }
    return error;
}

void fin_rpc_has_slept(struct fin_chan *c, uint64_t word) {
    struct fin_rpc *r = c->rpc;
    if (!of_this_thread(c, word) || !fin_rpc_sleeps(r))
        return;
    fin_rpc_unlink(r, &r->sleeper);
    r->sleeper.id = 0;
}
