// SPDX-License-Identifier: BSD-2-Clause
// The calls that receive. As in send.c each has a quick half and a slow one. (models/handover.pml)
#include <fin/cancel.h>

#include "chan/bell.h"
#include "chan/chan.h"
#include "chan/lmp.h"
#include "chan/wait.h"
#include "core/dispatch.h"

enum { LOOK_FOR_DEATH = 64 }; // tries in vain between two looks at the socket

static void in_leave(struct fin_chan *c) {
    if (FIN_UNLIKELY(c->in.ump.broken))
        in_not_quick(c);
    turn_leave(&c->in.turn);
    if (FIN_UNLIKELY(__atomic_load_n(&c->in.missed, __ATOMIC_RELAXED)))
        fin_chan_look_again(c);
}

// Descriptors are got out of the socket, and rings with them. Where that is not for a handler the set does not hear of
// these, whose number is used up: it is to look, and to arm the end anew.
static void takes_rings(struct fin_chan *c) {
    if (ump_watched(&c->in.ump) && !c->in.ump.meeting)
        __atomic_store_n(&c->in.missed, true, __ATOMIC_RELAXED);
}

// Where a message goes.
struct place {
    void *buffer;
    size_t size;
    int *fds; // NULL: none are wanted
    unsigned *count;
    struct unwanted *unwanted;
};

// The header of the next message, checked. 0: there is none; or -EPROTO.
static int next_header(struct fin_chan *c, uint64_t *header) {
    struct ump_rx *rx = &c->in.ump;
    uint64_t h = rx->broken ? 0 : ump_look(rx);
    uint32_t kind = h & UMP_KIND;
    if (h && (ump_size(h) > c->in.most || (kind != UMP_MESSAGE && kind != UMP_WITH_FDS)))
        rx->broken = true;
    *header = h;
    return fin_ump_broken(rx);
}

static int take_fds(struct ump_rx *rx, const struct place *p) {
    if (!p->fds) {
        fin_bell_drop_fds(rx, p->unwanted);
        return fin_ump_broken(rx);
    }
    int n = fin_bell_take_fds(rx, p->fds, (int)(*p->count < UMP_FDS ? *p->count : UMP_FDS), p->unwanted);
    if (n >= 0)
        *p->count = (unsigned)n;
    return n < 0 ? n : 0;
}

static inline void copy_line(const struct ump_rx *rx, uint64_t header, void *buffer) {
    const char *bytes = ump_bytes(rx, 0); // of any that is a line
    if (rx->ahead)
        __builtin_prefetch(bytes + rx->ahead);
    ump_copy_line(buffer, bytes, ump_size(header));
}

// The same of any length.
static inline void copy_any(const struct ump_rx *rx, uint64_t header, void *buffer) {
    size_t size = ump_size(header);
    if (size <= UMP_FIRST)
        copy_line(rx, header, buffer);
    else
        memcpy(buffer, ump_bytes(rx, size), size);
}

static inline ssize_t take_quickly(struct ump_rx *rx, uint64_t header, void *buffer) {
    copy_line(rx, header, buffer);
    return (ssize_t)ump_taken(rx, ump_size(header));
}

static inline ssize_t take_long(struct ump_rx *rx, uint64_t header, void *buffer) {
    copy_any(rx, header, buffer);
    return (ssize_t)ump_taken(rx, ump_size(header));
}

static FIN_BLOCKING __attribute__((noinline)) ssize_t acknowledge(struct fin_chan *c, size_t size) {
    fin_ump_acknowledge(&c->in.ump, size);
    turn_let_others_run(&c->in.turn, &c->in.ump.owes);
    return (ssize_t)size;
}

// These may block.
static inline FIN_BLOCKING ssize_t received(struct fin_chan *c, size_t size) {
    return ump_go_on(&c->in.ump, size) ? acknowledge(c, size) : (ssize_t)size;
}

static inline FIN_BLOCKING ssize_t receive_line(struct fin_chan *c, uint64_t header, void *buffer) {
    copy_line(&c->in.ump, header, buffer);
    return received(c, ump_size(header));
}

static inline FIN_BLOCKING ssize_t receive_any(struct fin_chan *c, uint64_t header, void *buffer) {
    copy_any(&c->in.ump, header, buffer);
    return received(c, ump_size(header));
}

// The length is that of the header that was checked, whatever the line says by now. -EAGAIN: there is no message.
static ssize_t take_next(struct fin_chan *c, const struct place *p) {
    struct ump_rx *rx = &c->in.ump;
    uint64_t header;
    int r = next_header(c, &header);
    size_t size = ump_size(header);
    if (r != 0 || !header)
        return r != 0 ? r : -EAGAIN;
    if (size > p->size)
        return -EMSGSIZE;
    if ((header & UMP_KIND) == UMP_WITH_FDS) {
        takes_rings(c);
        r = take_fds(rx, p);
        if (r != 0)
            return r;
    } else if (p->fds) {
        *p->count = 0;
    }
    if (FIN_UNLIKELY(fin_trace_is_on()))
        fin_chan_trace(c, false);
    else if (!c->in.turn.shared && !c->in.turn.mutex.locked)
        in_quick(c); // a trace may be over
    return take_long(rx, header, p->buffer);
}

// Where the sender has closed its end that is told soon, by the socket. That it was killed only the socket tells.
static bool may_be_gone(struct fin_chan *c) {
    const struct ump_rx *rx = &c->in.ump;
    if (__atomic_load_n(&rx->peer->closed, __ATOMIC_RELAXED) || ++c->in.tries % LOOK_FOR_DEATH == 0)
        return true;
    if (rx->meeting || fin_woken_ask() <= c->in.looked)
        return false;
    c->in.looked = fin_woken_at;
    return true;
}

// What there is when no message is. A ring of the bell may be for a message that has come since: it is left to who waits, a
// waitset. From a sender that is gone nothing else comes.
static int nothing(struct fin_chan *c) {
    struct ump_rx *rx = &c->in.ump;
    if (!rx->gone && may_be_gone(c) && (rx->meeting || fin_bell_is_cut(rx->fd)))
        fin_bell_empty(rx);
    return rx->gone && !fin_ump_arrived(rx) ? fin_ump_end_of(rx) : -EAGAIN;
}

void fin_chan_look_again(struct fin_chan *c) {
    __atomic_store_n(&c->in.missed, false, __ATOMIC_RELAXED);
    fin_waitset_look_again(&c->watch);
}

// Who has the turn sees that it was missed when it gives it: of a shared end the turn's latch is between.
static bool may_look(struct fin_chan *c) {
    if (turn_enter(&c->in.turn))
        return true;
    __atomic_store_n(&c->in.missed, true, __ATOMIC_RELAXED);
    return turn_enter(&c->in.turn);
}

int fin_chan_look(struct fin_chan *c, bool deep, uint64_t *at) {
    struct ump_rx *rx = &c->in.ump;
    int found = FIN_CHAN_NOTHING;
    if (!may_look(c))
        return found;
    if (deep || rx->unread)
        fin_bell_empty(rx); // then the ring: what was sent comes before the end
    if (rx->broken)
        found = FIN_CHAN_HAS_ENDED;
    else if (ump_look(rx) != 0)
        found = FIN_CHAN_HAS_MESSAGE;
    else if (rx->gone)
        found = FIN_CHAN_HAS_ENDED;
    *at = rx->tail;
    turn_leave(&c->in.turn);
    return found;
}

static ssize_t try_take(struct fin_chan *c, struct place p) {
    struct unwanted u;
    if (!turn_enter(&c->in.turn))
        return -EAGAIN;
    u.count = 0;
    p.unwanted = &u;
    ssize_t r = take_next(c, &p);
    if (r == -EAGAIN)
        r = nothing(c);
    in_leave(c);
    bell_close(&u);
    return r;
}

// The header of a message that is a line without descriptors, for which there is room, or 0.
static inline uint64_t header_of_line(const struct fin_chan *c, size_t room) {
    uint64_t header = ump_look_once(&c->in.ump);
    size_t size = ump_size(header);
    return FIN_LIKELY((header & UMP_KIND) == UMP_MESSAGE && size <= UMP_FIRST && size <= room) ? header : 0;
}

// The same where the end is quick.
static inline uint64_t quick_header(const struct fin_chan *c, size_t room) {
    return FIN_LIKELY(c->in.quick) ? header_of_line(c, room) : 0;
}

// The same for messages of any length.
static inline uint64_t quick_long_header(const struct fin_chan *c, size_t room) {
    uint64_t header = c->in.quick ? ump_look_once(&c->in.ump) : 0;
    size_t size = ump_size(header);
    return FIN_LIKELY((header & UMP_KIND) == UMP_MESSAGE && size <= c->in.most && size <= room) ? header : 0;
}

ssize_t fin_chan_take_now(struct fin_chan *c, void *buffer, size_t size) {
    uint64_t header = c->in.ump.broken || fin_trace_is_on() ? 0 : header_of_line(c, size);
    if (FIN_LIKELY(header != 0))
        return take_quickly(&c->in.ump, header, buffer);
    bool gone = c->in.ump.gone; // seen before the ring is looked at: nothing comes after that
    struct unwanted u;
    u.count = 0;
    ssize_t r = take_next(c, &(struct place){buffer, size, NULL, NULL, &u});
    bell_close(&u);
    return r == -EAGAIN && gone ? fin_ump_end_of(&c->in.ump) : r;
}

// A message that was there cannot have gone by right means.
static ssize_t take_there(struct fin_chan *c, const struct place *p) {
    ssize_t r = take_next(c, p);
    if (r != -EAGAIN)
        return r;
    c->in.ump.broken = true;
    return -EPROTO;
}

static FIN_BLOCKING ssize_t recv_in_turn(struct fin_chan *c, const struct place *p, bool nc) {
    ssize_t r = !ump_owes(&c->in.ump.owes) && turn_enter(&c->in.turn) ? take_next(c, p) : -EDEADLK;
    if (r != -EDEADLK)
        in_leave(c);
    if (r != -EAGAIN && r != -EDEADLK)
        return r;
    turn_let_others_run(&c->in.turn, &c->in.ump.owes);
    r = in_take(c, nc);
    if (r != 0)
        return r;
    r = fin_ump_await_message(&c->in.ump, nc);
    if (r == 0)
        r = take_there(c, p);
    in_give(c);
    return r;
}

static FIN_BLOCKING ssize_t recv_any(struct fin_chan *c, struct place p, bool nc) {
    struct unwanted u;
    if (!nc && fin_cancelled())
        return -ECANCELED;
    u.count = 0;
    p.unwanted = &u;
    ssize_t r = recv_in_turn(c, &p, nc);
    bell_close(&u);
    return r;
}

static FIN_BLOCKING __attribute__((noinline)) ssize_t recv_slowly(struct fin_chan *c, void *buffer, size_t size, bool nc) {
    return recv_any(c, (struct place){buffer, size, NULL, NULL, NULL}, nc);
}

ssize_t fin_chan_recv_there(struct fin_chan *c, void *buffer, size_t size, bool nc) {
    uint64_t header = quick_header(c, size);
    return header != 0 ? receive_line(c, header, buffer) : recv_slowly(c, buffer, size, nc);
}

static FIN_BLOCKING __attribute__((noinline)) ssize_t recv_later(struct fin_chan *c, void *buffer, size_t size, bool nc) {
    uint64_t header = c->in.quick && fin_ump_spin(&c->in.ump) ? quick_long_header(c, size) : 0; // it may take a moment
    return FIN_LIKELY(header != 0) ? receive_any(c, header, buffer) : recv_slowly(c, buffer, size, nc);
}

static inline FIN_BLOCKING ssize_t recv_quickly(struct fin_chan *c, void *buffer, size_t size, bool nc) {
    if (c->in.ump.alone)
        return fin_lmp_recv(c, buffer, size, nc);
    uint64_t header = quick_header(c, size);
    return FIN_LIKELY(header != 0) ? receive_line(c, header, buffer) : recv_later(c, buffer, size, nc);
}

ssize_t fin_chan_recv(struct fin_chan *c, void *buffer, size_t size) {
    return FIN_UNLIKELY(cancelled_here()) ? -ECANCELED : recv_quickly(c, buffer, size, false);
}

ssize_t fin_chan_recv_nc(struct fin_chan *c, void *buffer, size_t size) { return recv_quickly(c, buffer, size, true); }

static __attribute__((noinline)) ssize_t try_slowly(struct fin_chan *c, void *buffer, size_t size) {
    uint64_t header = quick_long_header(c, size);
    if (header != 0)
        return take_long(&c->in.ump, header, buffer);
    return try_take(c, (struct place){buffer, size, NULL, NULL, NULL});
}

ssize_t fin_chan_try_recv(struct fin_chan *c, void *buffer, size_t size) {
    uint64_t header = quick_header(c, size);
    return FIN_LIKELY(header != 0) ? take_quickly(&c->in.ump, header, buffer) : try_slowly(c, buffer, size);
}

ssize_t fin_chan_recv_fds(struct fin_chan *c, void *buffer, size_t size, int *fds, unsigned *count) {
    return recv_any(c, (struct place){buffer, size, fds, count, NULL}, false);
}

ssize_t fin_chan_recv_fds_nc(struct fin_chan *c, void *buffer, size_t size, int *fds, unsigned *count) {
    return recv_any(c, (struct place){buffer, size, fds, count, NULL}, true);
}

ssize_t fin_chan_try_recv_fds(struct fin_chan *c, void *buffer, size_t size, int *fds, unsigned *count) {
    return try_take(c, (struct place){buffer, size, fds, count, NULL});
}

static __attribute__((noinline, cold)) ssize_t peek_traced(const struct fin_chan *c, ssize_t n) {
    if (n >= 0)
        fin_chan_trace(c, false);
    return n;
}

static inline ssize_t peeked(const struct fin_chan *c, ssize_t n) {
    return FIN_UNLIKELY(fin_trace_is_on()) ? peek_traced(c, n) : n;
}

static inline const char *bytes_peeked(const struct fin_chan *c) {
    return ump_bytes(&c->in.ump, ump_size(c->in.peeked));
}

static FIN_BLOCKING ssize_t peek(struct fin_chan *c, const void **bytes, bool nc) {
    turn_let_others_run(&c->in.turn, &c->in.ump.owes);
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
    *bytes = bytes_peeked(c);
    return peeked(c, (ssize_t)ump_size(c->in.peeked));
}

static inline bool quick_peek(struct fin_chan *c) {
    struct ump_rx *rx = &c->in.ump;
    if (FIN_UNLIKELY(!c->in.quick || rx->owes))
        return false;
    uint64_t header = ump_look(rx);
    if ((header & UMP_KIND) != UMP_MESSAGE || FIN_UNLIKELY(ump_size(header) > c->in.most))
        return false;
    if (rx->ahead)
        __builtin_prefetch(ump_bytes(rx, 0) + rx->ahead);
    c->in.peeked = header;
    c->in.turn.mutex.locked = true;
    c->in.quick = false;
    return true;
}

// Where it is not there it may take a moment.
static inline FIN_BLOCKING ssize_t quick_or_peek(struct fin_chan *c, const void **bytes, bool nc) {
    if (FIN_UNLIKELY(!quick_peek(c)) && (!c->in.quick || !fin_ump_spin(&c->in.ump) || !quick_peek(c)))
        return peek(c, bytes, nc);
    *bytes = bytes_peeked(c);
    return (ssize_t)ump_size(c->in.peeked);
}

ssize_t fin_chan_peek(struct fin_chan *c, const void **bytes) {
    return FIN_UNLIKELY(cancelled_here()) ? -ECANCELED : quick_or_peek(c, bytes, false);
}

ssize_t fin_chan_peek_nc(struct fin_chan *c, const void **bytes) { return quick_or_peek(c, bytes, true); }

ssize_t fin_chan_try_peek(struct fin_chan *c, const void **bytes) {
    if (!turn_enter(&c->in.turn))
        return -EAGAIN;
    int r = next_header(c, &c->in.peeked);
    if (r == 0 && !c->in.peeked)
        r = nothing(c);
    if (r != 0)
        c->in.peeked = 0;
    if (r == 0) {
        c->in.turn.mutex.locked = true;
        in_not_quick(c);
        *bytes = bytes_peeked(c);
    }
    in_leave(c);
    return peeked(c, r == 0 ? (ssize_t)ump_size(c->in.peeked) : r);
}

ssize_t fin_chan_peek_now(struct fin_chan *c, const void **bytes) {
    bool gone = c->in.ump.gone; // as in fin_chan_take_now
    int r = next_header(c, &c->in.peeked);
    if (r != 0 || !c->in.peeked) {
        c->in.peeked = 0;
        return r != 0 ? r : gone ? fin_ump_end_of(&c->in.ump) : -EAGAIN;
    }
    *bytes = bytes_peeked(c);
    return peeked(c, (ssize_t)ump_size(c->in.peeked));
}

int fin_chan_release(struct fin_chan *c) {
    uint64_t header = c->in.peeked;
    struct unwanted u;
    if (!header)
        return -EINVAL;
    c->in.peeked = 0;
    u.count = 0;
    if ((header & UMP_KIND) == UMP_WITH_FDS) {
        takes_rings(c);
        fin_bell_drop_fds(&c->in.ump, &u);
    }
    ump_taken(&c->in.ump, ump_size(header));
    in_give(c);
    bell_close(&u);
    return 0;
}
