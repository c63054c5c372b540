// SPDX-License-Identifier: BSD-2-Clause
// Waiting for answers and requests. All on one thread, so what does not block needs no lock.
//
// A message is a word (the id, and whether it is a request or an answer), then its bytes. Of those who wait, one is in
// fin_chan_peek: the reader. It gives answers to their calls. A request it leaves where it is, as the head of the channel,
// and nobody reads before that has been taken. Invariant: where somebody waits, there is a reader, or one has been woken to
// become it, or there is a head; where there is a request, one that waits for those has been woken. promote() restores it.
// (models/room.pml)
#include <stdlib.h>

#include <fin/cancel.h>

#include "chan/rpc.h"
#include "chan/wait.h"
#include "core/dispatch.h"

static void wake(struct waiting *w) {
    struct fin_awe *a = w->awe;
    w->awe = NULL;
    if (a)
        fin_schedule_decided(a);
}

static void end(struct fin_rpc *r, int why) {
    r->end = r->end ? r->end : why;
    for (struct waiting *w = r->first; w; w = w->next)
        wake(w);
}

// Lets one more of those who wait go on, where nobody reads. At a head that is one who wants requests, and where some are
// kept, also while another one reads. Where there is none it looks for the one that sleeps for room.
static void promote(struct fin_rpc *r) {
    if (r->reading && FIN_LIKELY(!r->kept))
        return;
    bool nobody_reads_on = r->reading || r->head;
    for (struct waiting *w = r->first; w && (!nobody_reads_on || w->id == 0); w = w->next) {
        if (w->awe) {
            wake(w);
            return;
        }
    }
    if (FIN_UNLIKELY(fin_rpc_sleeps(r)) && !r->reading)
        fin_rpc_look(r);
}

static inline void release_head(struct fin_rpc *r) {
    r->head = false;
    fin_chan_release(r->chan);
}

// A message that is being peeked at, of n bytes. The word is read once.
static void handle(struct fin_rpc *r, const char *bytes, size_t n) {
    uint64_t word;
    if (n < sizeof word) {
        fin_chan_release(r->chan);
        end(r, -EPROTO);
        return;
    }
    memcpy(&word, bytes, sizeof word);
    bytes += sizeof word;
    n -= sizeof word;
    if (FIN_LIKELY((uint32_t)word == RPC_ANSWER)) {
        fin_rpc_answered(r, (uint32_t)(word >> 32), bytes, n);
    } else if ((uint32_t)word == RPC_REQUEST && !r->client) {
        r->head = true;
        r->at_head = (struct asked){(uint32_t)(word >> 32), n, bytes};
        r->next = FIN_LIKELY(!r->kept) ? &r->at_head : r->next;
        return;
    } else {
        end(r, -EPROTO);
    }
    fin_chan_release(r->chan);
}

bool fin_rpc_taken(struct lmp_waiter *w, uint64_t word, const void *data, size_t size) {
    struct fin_rpc *r = w->arg;
    if (!fin_rpc_take(r, r->reader, word, data, size))
        return false;
    if (r->reader->decided)
        fin_lmp_go_on(w, 0);
    return true;
}

static FIN_BLOCKING ssize_t read_here(struct fin_rpc *r, struct waiting *reader, bool nc) {
    struct lmp_waiter w;
    if (!nc && cancelled_here())
        return -ECANCELED;
    fin_rpc_begin_reading(r, reader, &w, nc ? NULL : with_list(written_block(fin_here()->thread.current)));
    lmp_stop(&w);
    return fin_rpc_end_reading(r, &w);
}

static FIN_BLOCKING void handle_here(struct fin_rpc *r, const void *bytes, size_t n) {
    r->answered = NULL;
    handle(r, bytes, n);
    if (FIN_LIKELY(!r->direct || !r->answered))
        return;
    r->reading = true; // it goes on with that: nobody else is to
    fin_yield_to(r->answered);
    r->reading = false;
}

// Waits for a message and handles it. An error is that of this wait alone.
static FIN_BLOCKING int read_one(struct fin_rpc *r, struct waiting *reader, bool nc) {
    const void *bytes;
    ssize_t n = fin_lmp_is_plain(r->chan) ? read_here(r, reader, nc) : -EAGAIN;
    if (n != -EAGAIN)
        return (int)n;
    r->reading = true;
    n = nc ? fin_chan_peek_nc(r->chan, &bytes) : fin_chan_peek(r->chan, &bytes);
    r->reading = false;
    if (FIN_LIKELY(n >= 0))
        handle_here(r, bytes, (size_t)n);
    else if (fin_bell_of_this_wait(n))
        return (int)n;
    else
        end(r, (int)n);
    return 0;
}

static void cancelled(void *waiting) {
    struct waiting *w = waiting;
    w->cancelled = true;
    wake(w);
}

static FIN_BLOCKING void stop_here(struct waiting *w, bool nc) {
    struct fin_cancel_item item;
    if (!nc)
        fin_cancel_add(&item, cancelled, w);
    if (!w->cancelled) {
        fin_here()->stats.blocks[FIN_FOR_MESSAGE].with_stack++;
        fin_await(&w->awe);
    }
    if (!nc)
        fin_cancel_remove(&item);
}

ssize_t fin_rpc_go_on_waiting(struct fin_rpc *r, struct waiting *w, ssize_t error, bool nc) {
    for (unsigned n = 1; !fin_rpc_settled(r, w) && error == 0; n++) {
        if (r->reading || r->head) {
            stop_here(w, nc);
            error = w->cancelled ? -ECANCELED : 0;
        } else {
            error = read_one(r, w, nc);
            if (r->next && w->id != 0)
                promote(r);
        }
        if (n % FLOOD == 0)
            fin_yield(); // what nobody asked for keeps nobody else from running
    }
    fin_rpc_leave(r, w);
    return w->decided ? w->result : w->id == 0 && r->next ? 0 : error != 0 ? error : r->end;
}

ssize_t fin_rpc_take_request(struct fin_rpc *r, void *request, size_t room, uint32_t *id) {
    size_t size = r->next->size;
    if (size > room) {
        promote(r); // another one may have more room
        return -EMSGSIZE;
    }
    if (size > 0)
        memcpy(request, r->next->bytes, size);
    *id = r->next->id;
    r->next = NULL;
    if (FIN_LIKELY(!r->kept))
        release_head(r);
    else
        fin_rpc_drop_kept(r);
    if (r->first)
        promote(r);
    return (ssize_t)size;
}

// What is there, up to a request, unless an AWE reads.
void fin_rpc_read_now(struct fin_rpc *r) {
    for (int i = 0; i < FLOOD && !r->reading && !r->head && r->end == 0; i++) {
        const void *bytes;
        ssize_t n = fin_chan_try_peek(r->chan, &bytes);
        if (n == -EAGAIN)
            break;
        if (n < 0)
            end(r, (int)n);
        else
            handle(r, bytes, (size_t)n);
    }
}

ssize_t fin_rpc_poll_now(struct fin_rpc *r, void *request, size_t room, uint32_t *id) {
    fin_rpc_read_now(r);
    if (r->next)
        return fin_rpc_take_request(r, request, room, id);
    if (r->first)
        promote(r);
    return r->end != 0 ? r->end : -EAGAIN;
}

// Nobody closes one of the ends meanwhile.
void fin_rpc_let_read(struct fin_rpc *const *group, unsigned count) {
    bool reading = false;
    for (unsigned i = 0; i < count; i++)
        reading |= group[i]->reading;
    if (!reading)
        return;
    for (unsigned i = 0; i < count; i++)
        group[i]->inside++;
    fin_yield();
    for (unsigned i = 0; i < count; i++)
        group[i]->inside--;
}

ssize_t fin_rpc_poll(struct fin_rpc *r, void *request, size_t room, uint32_t *id) {
    fin_rpc_let_read(&r, 1);
    return fin_rpc_poll_now(r, request, room, id);
}

ssize_t fin_rpc_poll_group(struct fin_rpc *const *group, unsigned count, unsigned *which, void *request, size_t room,
                           uint32_t *id) {
    unsigned after = *which;
    ssize_t error = -EAGAIN;
    fin_rpc_let_read(group, count);
    for (unsigned i = 1; i <= count; i++) {
        unsigned at = (unsigned)(((uint64_t)after + i) % count);
        ssize_t n = fin_rpc_poll_now(group[at], request, room, id);
        if (n == -EAGAIN || (n < 0 && n != -EMSGSIZE && error != -EAGAIN))
            continue;
        *which = at;
        if (n >= 0 || n == -EMSGSIZE)
            return n;
        error = n;
    }
    return error;
}

int fin_rpc_open(struct fin_rpc **out, struct fin_chan *c, unsigned flags) {
    if (flags & ~(unsigned)FIN_RPC_CLIENT)
        return -EINVAL;
    out_settle(c);
    if (c->rpc || turn_in_use(&c->out.turn) || turn_in_use(&c->in.turn) || __atomic_load_n(&c->watch.set, __ATOMIC_RELAXED))
        return -EBUSY;
    struct fin_rpc *r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    r->chan = c;
    c->rpc = r;
    r->client = flags & FIN_RPC_CLIENT;
    *out = r;
    return 0;
}

int fin_rpc_close(struct fin_rpc *r) {
    out_settle(r->chan);
    if (r->first || r->reading || r->inside || turn_in_use(&r->chan->out.turn))
        return -EBUSY;
    if (r->head)
        release_head(r);
    while (r->kept)
        fin_rpc_drop_kept(r);
    r->chan->rpc = NULL;
    int error = fin_chan_close(r->chan);
    if (error != 0) {
        r->chan->rpc = r;
        return error;
    }
    fin_rpc_calls_end(r);
    fin_rpc_spares_end(r);
    free(r);
    return 0;
}

void fin_rpc_stop(struct fin_rpc *r, int why) {
    end(r, why);
    fin_bell_stop(&r->chan->in.ump); // the reader
    fin_ump_no_receiver(&r->chan->out.ump, why);
    fin_bell_stop_waiting(&r->chan->out.ump);
}

void fin_rpc_end(struct fin_rpc *r, int why) { end(r, why); }
void fin_rpc_promote(struct fin_rpc *r) { promote(r); }
void fin_rpc_handle(struct fin_rpc *r, const void *bytes, size_t n) { handle(r, bytes, n); }
void fin_rpc_cancelled(void *waiting) { cancelled(waiting); }

size_t fin_rpc_most(const struct fin_rpc *r) { return fin_chan_most(r->chan) - sizeof(uint64_t); }
uint64_t fin_rpc_strays(const struct fin_rpc *r) { return r->strays; }
