// SPDX-License-Identifier: BSD-2-Clause
// The calls. Each has a quick half, for a message of one line on an end that one thread uses, and one for all else.
#include <fin/cancel.h>

#include "chan/bell.h"
#include "chan/chan.h"
#include "chan/wait.h"
#include "core/runtime.h"

enum { LOOK_FOR_DEATH = 64 }; // tries in vain between two looks at the socket

// A call that does not block. False: somebody has the turn. Otherwise turn_leave is to follow.
static bool turn_enter(struct turn *t) {
    if (t->shared)
        fin_latch_acquire(&t->latch);
    if (!t->busy)
        return true;
    if (t->shared)
        fin_latch_release(&t->latch);
    return false;
}

static void turn_leave(struct turn *t) {
    if (t->shared)
        fin_latch_release(&t->latch);
}

static void turn_set(struct turn *t, bool busy) {
    if (t->shared)
        fin_latch_acquire(&t->latch);
    t->busy = busy;
    turn_leave(t);
}

static int turn_take(struct turn *t, bool nc) {
    int r = 0;
    if (nc)
        fin_mutex_lock_nc(&t->mutex);
    else
        r = fin_mutex_lock(&t->mutex);
    if (r == 0)
        turn_set(t, true);
    return r;
}

static void turn_give(struct turn *t) {
    turn_set(t, false);
    fin_mutex_unlock(&t->mutex);
}

// The quick half is for those of an end that is not shared, while nobody has the turn.
static void set_quick(bool *quick, const struct turn *t, bool now) {
    if (!t->shared)
        *quick = now;
}

static int out_take(struct fin_chan *c, bool nc) {
    int r = turn_take(&c->out.turn, nc);
    if (r == 0)
        set_quick(&c->out.quick, &c->out.turn, false);
    return r;
}

static void out_give(struct fin_chan *c) {
    set_quick(&c->out.quick, &c->out.turn, true);
    turn_give(&c->out.turn);
}

static int in_take(struct fin_chan *c, bool nc) {
    int r = turn_take(&c->in.turn, nc);
    if (r == 0)
        set_quick(&c->in.quick, &c->in.turn, false);
    return r;
}

static void in_give(struct fin_chan *c) {
    set_quick(&c->in.quick, &c->in.turn, !c->in.ump.broken);
    turn_give(&c->in.turn);
}

static void in_leave(struct fin_chan *c) {
    if (FIN_UNLIKELY(c->in.ump.broken))
        set_quick(&c->in.quick, &c->in.turn, false);
    turn_leave(&c->in.turn);
}

// Pre: room for its lines.
static void put(struct fin_chan *c, const void *data, size_t size, uint32_t kind) {
    struct ump_tx *tx = &c->out.ump;
    char *at = ump_line(tx->ring, tx->head, tx->lines) + UMP_HEADER;
    uint32_t lines = ump_lines(size);
    if (lines == 1) {
        ump_copy_line(at, data, size);
    } else {
        memcpy(at, data, size);
        tx->dirty = tx->head + lines + tx->lines;
    }
    ump_publish(tx, size, kind, lines);
}

struct message {
    const void *data;
    size_t size;
    const int *fds;
    unsigned count;
};

static int put_waiting(struct fin_chan *c, const struct message *m, bool nc) {
    int r = fin_ump_await_room(&c->out.ump, ump_lines(m->size), nc);
    if (r == 0 && m->count)
        r = fin_bell_send_fds(&c->out.ump, m->fds, (int)m->count, nc);
    if (r == 0)
        put(c, m->data, m->size, m->count ? UMP_WITH_FDS : UMP_MESSAGE);
    return r;
}

static int try_put(struct fin_chan *c, const struct message *m) {
    uint32_t lines = ump_lines(m->size);
    if (!turn_enter(&c->out.turn))
        return -EAGAIN;
    struct ump_tx *tx = &c->out.ump;
    int r = ump_room(tx, lines) || fin_ump_refresh(tx, lines) ? 0 : tx->end ? tx->end : -EAGAIN;
    if (r == 0)
        put(c, m->data, m->size, UMP_MESSAGE);
    turn_leave(&c->out.turn);
    return r;
}

static int send_any(struct fin_chan *c, const struct message *m, bool nc) {
    if (m->size > c->out.most)
        return -EMSGSIZE;
    if (m->count > UMP_FDS)
        return -EINVAL;
    if (!nc && fin_cancelled())
        return -ECANCELED;
    int r = m->count ? -EAGAIN : try_put(c, m);
    if (r != -EAGAIN)
        return r;
    r = out_take(c, nc);
    if (r != 0)
        return r;
    r = put_waiting(c, m, nc);
    out_give(c);
    return r;
}

static inline bool quick_send(struct fin_chan *c, const void *data, size_t size) {
    struct ump_tx *tx = &c->out.ump;
    if (FIN_UNLIKELY(!c->out.quick || size > UMP_FIRST || !ump_room(tx, 1)))
        return false;
    ump_copy_line(ump_line(tx->ring, tx->head, tx->lines) + UMP_HEADER, data, size);
    ump_publish(tx, size, UMP_MESSAGE, 1);
    return true;
}

int fin_chan_send(struct fin_chan *c, const void *data, size_t size) {
    if (FIN_UNLIKELY(fin_cancelled()))
        return -ECANCELED;
    return FIN_LIKELY(quick_send(c, data, size)) ? 0 : send_any(c, &(struct message){data, size, NULL, 0}, false);
}

int fin_chan_send_nc(struct fin_chan *c, const void *data, size_t size) {
    return FIN_LIKELY(quick_send(c, data, size)) ? 0 : send_any(c, &(struct message){data, size, NULL, 0}, true);
}

int fin_chan_try_send(struct fin_chan *c, const void *data, size_t size) {
    if (FIN_LIKELY(quick_send(c, data, size)))
        return 0;
    if (size > c->out.most)
        return -EMSGSIZE;
    return try_put(c, &(struct message){data, size, NULL, 0});
}

int fin_chan_send_fds(struct fin_chan *c, const void *data, size_t size, const int *fds, unsigned count) {
    return send_any(c, &(struct message){data, size, fds, count}, false);
}

int fin_chan_send_fds_nc(struct fin_chan *c, const void *data, size_t size, const int *fds, unsigned count) {
    return send_any(c, &(struct message){data, size, fds, count}, true);
}

// Where a message goes.
struct place {
    void *buffer;
    size_t size;
    int *fds; // NULL: none are wanted
    unsigned *count;
};

// The header of the next message, checked. 0: there is none; or -EPROTO.
static int next_header(struct fin_chan *c, uint64_t *header) {
    struct ump_rx *rx = &c->in.ump;
    uint64_t h = rx->broken ? 0 : ump_look(rx);
    uint32_t kind = h & UMP_KIND;
    if (h && (ump_size(h) > c->in.most || (kind != UMP_MESSAGE && kind != UMP_WITH_FDS)))
        rx->broken = true;
    *header = h;
    return rx->broken ? -EPROTO : 0;
}

static int take_fds(struct ump_rx *rx, const struct place *p) {
    if (!p->fds) {
        fin_bell_drop_fds(rx);
        return rx->broken ? -EPROTO : 0;
    }
    int n = fin_bell_take_fds(rx, p->fds, (int)(*p->count < UMP_FDS ? *p->count : UMP_FDS));
    if (n >= 0)
        *p->count = (unsigned)n;
    return n < 0 ? n : 0;
}

// The length is that of the header that was checked, whatever the line says by now. -EAGAIN: there is no message.
static ssize_t take(struct fin_chan *c, const struct place *p) {
    struct ump_rx *rx = &c->in.ump;
    uint64_t header;
    int r = next_header(c, &header);
    size_t size = ump_size(header);
    if (r != 0 || !header)
        return r != 0 ? r : -EAGAIN;
    if (size > p->size)
        return -EMSGSIZE;
    if ((header & UMP_KIND) == UMP_WITH_FDS) {
        r = take_fds(rx, p);
        if (r != 0)
            return r;
    } else if (p->fds) {
        *p->count = 0;
    }
    if (size <= UMP_FIRST)
        ump_copy_line(p->buffer, ump_bytes(rx), size);
    else
        memcpy(p->buffer, ump_bytes(rx), size);
    ump_taken(rx, ump_lines(size));
    return (ssize_t)size;
}

// What there is when no message is.
static int nothing(struct fin_chan *c) {
    struct ump_rx *rx = &c->in.ump;
    if (!rx->gone && ++c->in.tries % LOOK_FOR_DEATH == 0)
        fin_bell_empty(rx);
    return rx->gone && !fin_ump_arrived(rx) ? fin_ump_end_of(rx) : -EAGAIN;
}

static ssize_t try_take(struct fin_chan *c, const struct place *p) {
    if (!turn_enter(&c->in.turn))
        return -EAGAIN;
    ssize_t r = take(c, p);
    if (r == -EAGAIN)
        r = nothing(c);
    in_leave(c);
    return r;
}

// A message that was there cannot have gone by right means.
static ssize_t take_there(struct fin_chan *c, const struct place *p) {
    ssize_t r = take(c, p);
    if (r != -EAGAIN)
        return r;
    c->in.ump.broken = true;
    return -EPROTO;
}

static ssize_t recv_any(struct fin_chan *c, const struct place *p, bool nc) {
    if (!nc && fin_cancelled())
        return -ECANCELED;
    ssize_t r = turn_enter(&c->in.turn) ? take(c, p) : -EDEADLK;
    if (r != -EDEADLK)
        in_leave(c);
    if (r != -EAGAIN && r != -EDEADLK)
        return r;
    r = in_take(c, nc);
    if (r != 0)
        return r;
    r = fin_ump_await_message(&c->in.ump, nc);
    if (r == 0)
        r = take_there(c, p);
    in_give(c);
    return r;
}

// The length, or -EAGAIN where it is not that simple.
static inline ssize_t quick_recv(struct fin_chan *c, void *buffer, size_t room) {
    struct ump_rx *rx = &c->in.ump;
    if (FIN_UNLIKELY(!c->in.quick))
        return -EAGAIN;
    uint64_t header = ump_look(rx);
    size_t size = ump_size(header);
    if (FIN_UNLIKELY((header & UMP_KIND) != UMP_MESSAGE || size > UMP_FIRST || size > room))
        return -EAGAIN;
    ump_copy_line(buffer, ump_bytes(rx), size);
    ump_taken(rx, 1);
    return (ssize_t)size;
}

// The same, where it may take a moment.
static inline ssize_t quick_wait(struct fin_chan *c, void *buffer, size_t size) {
    ssize_t n = quick_recv(c, buffer, size);
    return FIN_LIKELY(n >= 0) || !c->in.quick || !fin_ump_spin(&c->in.ump) ? n : quick_recv(c, buffer, size);
}

ssize_t fin_chan_recv(struct fin_chan *c, void *buffer, size_t size) {
    if (FIN_UNLIKELY(fin_cancelled()))
        return -ECANCELED;
    ssize_t n = quick_wait(c, buffer, size);
    return FIN_LIKELY(n >= 0) ? n : recv_any(c, &(struct place){buffer, size, NULL, NULL}, false);
}

ssize_t fin_chan_recv_nc(struct fin_chan *c, void *buffer, size_t size) {
    ssize_t n = quick_wait(c, buffer, size);
    return FIN_LIKELY(n >= 0) ? n : recv_any(c, &(struct place){buffer, size, NULL, NULL}, true);
}

ssize_t fin_chan_try_recv(struct fin_chan *c, void *buffer, size_t size) {
    ssize_t n = quick_recv(c, buffer, size);
    if (FIN_LIKELY(n >= 0))
        return n;
    return try_take(c, &(struct place){buffer, size, NULL, NULL});
}

ssize_t fin_chan_recv_fds(struct fin_chan *c, void *buffer, size_t size, int *fds, unsigned *count) {
    return recv_any(c, &(struct place){buffer, size, fds, count}, false);
}

ssize_t fin_chan_recv_fds_nc(struct fin_chan *c, void *buffer, size_t size, int *fds, unsigned *count) {
    return recv_any(c, &(struct place){buffer, size, fds, count}, true);
}

static int reserve(struct fin_chan *c, size_t size, void **room, bool nc) {
    struct ump_tx *tx = &c->out.ump;
    if (size > c->out.most)
        return -EMSGSIZE;
    int r = out_take(c, nc);
    if (r != 0)
        return r;
    r = fin_ump_await_room(tx, ump_lines(size), nc);
    if (r != 0) {
        out_give(c);
        return r;
    }
    if (ump_lines(size) > 1)
        tx->dirty = tx->head + ump_lines(size) + tx->lines;
    c->out.reserved = size + 1;
    *room = ump_line(tx->ring, tx->head, tx->lines) + UMP_HEADER;
    return 0;
}

int fin_chan_reserve(struct fin_chan *c, size_t size, void **room) { return reserve(c, size, room, false); }
int fin_chan_reserve_nc(struct fin_chan *c, size_t size, void **room) { return reserve(c, size, room, true); }

int fin_chan_commit(struct fin_chan *c, size_t used) {
    if (used >= c->out.reserved)
        return -EINVAL;
    c->out.reserved = 0;
    ump_publish(&c->out.ump, used, UMP_MESSAGE, ump_lines(used));
    out_give(c);
    return 0;
}

void fin_chan_abandon(struct fin_chan *c) {
    if (c->out.reserved == 0)
        return;
    c->out.reserved = 0;
    out_give(c);
}

static ssize_t peek(struct fin_chan *c, const void **bytes, bool nc) {
    int r = in_take(c, nc);
    if (r != 0)
        return r;
    r = fin_ump_await_message(&c->in.ump, nc);
    if (r == 0)
        r = next_header(c, &c->in.peeked);
    if (r == 0 && !c->in.peeked) {
        c->in.ump.broken = true;
        r = -EPROTO;
    }
    if (r != 0) {
        c->in.peeked = 0;
        in_give(c);
        return r;
    }
    *bytes = ump_bytes(&c->in.ump);
    return (ssize_t)ump_size(c->in.peeked);
}

ssize_t fin_chan_peek(struct fin_chan *c, const void **bytes) { return peek(c, bytes, false); }
ssize_t fin_chan_peek_nc(struct fin_chan *c, const void **bytes) { return peek(c, bytes, true); }

int fin_chan_release(struct fin_chan *c) {
    uint64_t header = c->in.peeked;
    if (!header)
        return -EINVAL;
    c->in.peeked = 0;
    if ((header & UMP_KIND) == UMP_WITH_FDS)
        fin_bell_drop_fds(&c->in.ump);
    ump_taken(&c->in.ump, ump_lines(ump_size(header)));
    in_give(c);
    return 0;
}

size_t fin_chan_most(const struct fin_chan *c) { return c->out.most; }
