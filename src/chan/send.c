// SPDX-License-Identifier: BSD-2-Clause
// The calls that send. Each has a quick half, for a message of one line on an end that one thread uses, and one for the
// rest.
#include "chan/chan.h"
#include "chan/lmp.h"
#include "chan/wait.h"
#include "core/dispatch.h"

enum { LOOK_FOR_DEATH = 64 }; // tries in vain between two looks at the socket

// The quick half is for those of an end that is not shared, while nobody has the turn. Of one that is `quick` and `here`
// never change: other threads read them.
void fin_chan_out_not_quick(struct fin_chan *c) {
    if (!c->out.turn.shared)
        c->out.quick = c->out.here = false;
}

static FIN_BLOCKING int out_take(struct fin_chan *c, bool nc) {
    out_settle(c);
    int r = turn_take(&c->out.turn, nc);
    if (r == 0)
        fin_chan_out_not_quick(c);
    return r;
}

// Pre: the end is not shared, and nobody has the turn.
static void out_quick(struct fin_chan *c) {
    c->out.quick = !c->out.ump.alone && !fin_trace_is_on();
    c->out.here = c->out.ump.alone && !fin_trace_is_on();
}

void fin_chan_out_give(struct fin_chan *c) {
    if (turn_give(&c->out.turn))
        out_quick(c);
}

struct message {
    const void *data;
    size_t size;
    const int *fds;
    unsigned count;
    const uint64_t *word; // NULL, or what goes before the data
};

static inline size_t whole_size(const struct message *m) { return m->size + (m->word ? sizeof *m->word : 0); }

// Pre: room for its lines.
// 0, or that a sleeper cannot be woken.
static int put(struct fin_chan *c, const struct message *m) {
    struct ump_tx *tx = &c->out.ump;
    size_t size = whole_size(m);
    char *at = ump_line(tx->ring, tx->head, tx->lines) + ump_offset(size);
    uint32_t lines = ump_lines(size);
    if (m->word) {
        memcpy(at, m->word, sizeof *m->word);
        at += sizeof *m->word;
    }
    if (lines == 1) {
        ump_copy_line(at, m->data, m->size);
    } else {
        memcpy(at, m->data, m->size);
        tx->dirty = tx->head + lines + tx->lines;
    }
    if (FIN_UNLIKELY(fin_trace_is_on()))
        fin_chan_trace(c, true);
    int r = ump_publish(tx, size, m->count ? UMP_WITH_FDS : UMP_MESSAGE);
    if (tx->alone)
        fin_lmp_arrived(tx);
    return r;
}

static FIN_BLOCKING int put_waiting(struct fin_chan *c, const struct message *m, bool nc) {
    int r = fin_ump_await_room(&c->out.ump, ump_lines(whole_size(m)), m->word ? *m->word : 0, nc);
    if (r == 0 && m->count)
        r = fin_bell_send_fds(&c->out.ump, m->fds, (int)m->count, nc);
    return r == 0 ? put(c, m) : r;
}

static int room_now(struct ump_tx *tx, uint32_t lines) {
    return ump_room(tx, lines) || fin_ump_refresh(tx, lines) ? 0 : tx->end ? tx->end : -EAGAIN;
}

static int put_now(struct fin_chan *c, const struct message *m) {
    uint32_t lines = ump_lines(whole_size(m));
    struct ump_tx *tx = &c->out.ump;
    int r = room_now(tx, lines);
    if (r == 0 && m->count)
        r = fin_bell_try_send_fds(tx, m->fds, (int)m->count);
    if (r != 0)
        return r;
    r = put(c, m);
    if (!c->out.turn.shared && !c->out.turn.mutex.locked)
        out_quick(c); // a trace may be over
    return r;
}

// As quick() below, of any number of lines: the turn costs as much as to copy some hundred bytes. Pre: it is not too long,
// and has no descriptors.
static inline int put_at_once(struct fin_chan *c, const struct message *m) {
    bool can = c->out.quick && !c->out.reserved && FIN_LIKELY(ump_room(&c->out.ump, ump_lines(whole_size(m))));
    return can ? put(c, m) : -EAGAIN;
}

// That the receiver was killed only its socket tells those who never wait.
static int no_room_yet(struct fin_chan *c) {
    struct ump_tx *tx = &c->out.ump;
    if (++c->out.tries % LOOK_FOR_DEATH == 0 && !tx->meeting && fin_bell_is_cut(tx->fd))
        fin_ump_no_receiver(tx, -EPIPE);
    return tx->end ? tx->end : -EAGAIN;
}

static int try_put(struct fin_chan *c, const struct message *m) {
    int r = m->count ? -EAGAIN : put_at_once(c, m);
    if (r != -EAGAIN)
        return r;
    out_settle(c);
    if (!turn_enter(&c->out.turn))
        return -EAGAIN;
    r = put_now(c, m);
    if (r == -EAGAIN)
        r = no_room_yet(c);
    turn_leave(&c->out.turn);
    return r;
}

int fin_chan_put_now(struct fin_chan *c, const uint64_t *word, const void *data, size_t size) {
    return put_now(c, &(struct message){data, size, NULL, 0, word});
}

static int refusal(const struct fin_chan *c, const struct message *m) {
    if (m->size > c->out.most || whole_size(m) > c->out.most)
        return -EMSGSIZE;
    return m->count > UMP_FDS ? -EINVAL : 0;
}

static FIN_BLOCKING int send_any(struct fin_chan *c, const struct message *m, bool nc) {
    int error = refusal(c, m);
    if (error)
        return error;
    if (!nc && fin_cancelled())
        return -ECANCELED;
    int r = m->count || ump_owes(&c->out.ump.owes) ? -EAGAIN : try_put(c, m);
    if (r != -EAGAIN)
        return r;
    turn_let_others_run(&c->out.turn, &c->out.ump.owes);
    r = out_take(c, nc);
    if (r != 0)
        return r;
    r = put_waiting(c, m, nc);
    fin_chan_out_give(c);
    return r;
}

// The quick half: a line for an end that is quick. It needs no frame: what is stored there takes the places of lines in the
// processor's store buffer.
static inline bool quick(const struct fin_chan *c, size_t size) {
    return FIN_LIKELY(c->out.quick && !c->out.reserved && size <= UMP_FIRST && ump_room(&c->out.ump, 1));
}

static inline int put_quickly(struct fin_chan *c, const void *data, size_t size) {
    struct ump_tx *tx = &c->out.ump;
    char *line = ump_line(tx->ring, tx->head, tx->lines);
    uint64_t header = ump_header(tx, size, UMP_MESSAGE), next = tx->head + 1;
    if (tx->ahead)
        ump_get_lines(tx, line);
    ump_copy_line(line + UMP_HEADER, data, size);
    return ump_publish_at(tx, line, header, next);
}

// To who waits for it on this thread. (models/handover.pml)
static inline bool hand(struct fin_chan *c, const void *data, size_t size) {
    struct lmp_waiter *w = c->out.here ? c->out.ump.meeting->waiter : NULL;
    if (FIN_UNLIKELY(!w || !lmp_fits(w, size) || size > c->out.most))
        return false;
    fin_lmp_give(w, data, size);
    return true;
}

static FIN_BLOCKING __attribute__((noinline)) int send_slowly(struct fin_chan *c, const void *data, size_t size, bool nc) {
    return send_any(c, &(struct message){data, size, NULL, 0, NULL}, nc);
}

// The same half with the turn's latch, where several threads may send. False: it is not that simple.
static inline bool put_in_turn(struct fin_chan *c, const void *data, size_t size, int *result) {
    if (size > UMP_FIRST || FIN_UNLIKELY(fin_trace_is_on()) || !turn_enter(&c->out.turn))
        return false;
    bool room = ump_room(&c->out.ump, 1);
    if (FIN_LIKELY(room))
        *result = put_quickly(c, data, size);
    turn_leave(&c->out.turn);
    return room;
}

static FIN_BLOCKING __attribute__((noinline)) int send_other(struct fin_chan *c, const void *data, size_t size, bool nc) {
    int r = size <= c->out.most ? put_at_once(c, &(struct message){data, size, NULL, 0, NULL}) : -EAGAIN;
    if (r != -EAGAIN)
        return r;
    r = 0;
    bool done = c->out.turn.shared ? put_in_turn(c, data, size, &r) : hand(c, data, size);
    return done ? r : send_slowly(c, data, size, nc);
}

int fin_chan_send(struct fin_chan *c, const void *data, size_t size) {
    if (FIN_UNLIKELY(cancelled_here()))
        return -ECANCELED;
    return quick(c, size) ? put_quickly(c, data, size) : send_other(c, data, size, false);
}

int fin_chan_send_nc(struct fin_chan *c, const void *data, size_t size) {
    return quick(c, size) ? put_quickly(c, data, size) : send_other(c, data, size, true);
}

static FIN_BLOCKING __attribute__((noinline)) int send_behind_slowly(struct fin_chan *c, uint64_t word, const void *data,
                                                                     size_t size, bool nc) {
    return send_any(c, &(struct message){data, size, NULL, 0, &word}, nc);
}

// To who waits for such on this thread.
static inline bool hand_behind(struct fin_chan *c, uint64_t word, const void *data, size_t size) {
    struct lmp_waiter *w = c->out.here ? c->out.ump.meeting->waiter : NULL;
    return w && lmp_takes(w) && size <= c->out.most - sizeof word && w->take(w, word, data, size);
}

static inline bool quick_behind(const struct fin_chan *c, size_t size) {
    bool usual = (c->out.quick && !c->out.reserved) || (c->out.here && !fin_trace_is_on());
    return FIN_LIKELY(size <= UMP_FIRST - sizeof(uint64_t) && usual && ump_room(&c->out.ump, 1));
}

static inline int put_behind_quickly(struct fin_chan *c, uint64_t word, const void *data, size_t size) {
    struct ump_tx *tx = &c->out.ump;
    char *line = ump_line(tx->ring, tx->head, tx->lines);
    uint64_t header = ump_header(tx, sizeof word + size, UMP_MESSAGE), next = tx->head + 1;
    ump_copy_line(line + UMP_HEADER + sizeof word, data, size);
    UMP_WORD(line + UMP_HEADER) = word;
    int r = ump_publish_at(tx, line, header, next);
    if (tx->alone)
        fin_lmp_arrived(tx);
    return r;
}

int fin_chan_send_behind(struct fin_chan *c, uint64_t word, const void *data, size_t size, bool nc) {
    if (!nc && FIN_UNLIKELY(cancelled_here()))
        return -ECANCELED;
    if (hand_behind(c, word, data, size))
        return 0;
    return quick_behind(c, size) ? put_behind_quickly(c, word, data, size) : send_behind_slowly(c, word, data, size, nc);
}

int fin_chan_send_behind_now(struct fin_chan *c, uint64_t word, const void *data, size_t size) {
    if (hand_behind(c, word, data, size))
        return 0;
    if (quick_behind(c, size))
        return put_behind_quickly(c, word, data, size);
    const struct message m = {data, size, NULL, 0, &word};
    int error = refusal(c, &m);
    return error ? error : try_put(c, &m);
}

static __attribute__((noinline)) int try_send_slowly(struct fin_chan *c, const void *data, size_t size) {
    return size > c->out.most ? -EMSGSIZE : try_put(c, &(struct message){data, size, NULL, 0, NULL});
}

int fin_chan_try_send(struct fin_chan *c, const void *data, size_t size) {
    return quick(c, size) ? put_quickly(c, data, size) : try_send_slowly(c, data, size);
}

int fin_chan_send_now(struct fin_chan *c, const void *data, size_t size) {
    return hand(c, data, size) ? 0 : fin_chan_try_send(c, data, size);
}

int fin_chan_send_fds(struct fin_chan *c, const void *data, size_t size, const int *fds, unsigned count) {
    return send_any(c, &(struct message){data, size, fds, count, NULL}, false);
}

int fin_chan_send_fds_nc(struct fin_chan *c, const void *data, size_t size, const int *fds, unsigned count) {
    return send_any(c, &(struct message){data, size, fds, count, NULL}, true);
}

int fin_chan_try_send_fds(struct fin_chan *c, const void *data, size_t size, const int *fds, unsigned count) {
    const struct message m = {data, size, fds, count, NULL};
    int error = refusal(c, &m);
    return error ? error : try_put(c, &m);
}

// Pre: room for its lines. The caller has the turn.
static void begin_reservation(struct fin_chan *c, size_t size, void **room) {
    struct ump_tx *tx = &c->out.ump;
    if (ump_lines(size) > 1)
        tx->dirty = tx->head + ump_lines(size) + tx->lines;
    c->out.reserved = size + 1;
    *room = ump_line(tx->ring, tx->head, tx->lines) + ump_offset(size);
}

static FIN_BLOCKING __attribute__((noinline)) int reserve_slowly(struct fin_chan *c, size_t size, void **room, bool nc) {
    struct ump_tx *tx = &c->out.ump;
    if (size > c->out.most)
        return -EMSGSIZE;
    turn_let_others_run(&c->out.turn, &c->out.ump.owes);
    int r = out_take(c, nc);
    if (r != 0)
        return r;
    r = fin_ump_await_room(tx, ump_lines(size), 0, nc);
    if (r != 0) {
        fin_chan_out_give(c);
        return r;
    }
    begin_reservation(c, size, room);
    return 0;
}

static inline int reserve_quickly(struct fin_chan *c, size_t size, void **room) {
    struct ump_tx *tx = &c->out.ump;
    char *line = ump_line(tx->ring, tx->head, tx->lines);
    if (tx->ahead)
        ump_get_lines(tx, line);
    c->out.reserved = size + 1;
    *room = line + UMP_HEADER;
    return 0;
}

static inline FIN_BLOCKING int reserve(struct fin_chan *c, size_t size, void **room, bool nc) {
    return quick(c, size) ? reserve_quickly(c, size, room) : reserve_slowly(c, size, room, nc);
}

int fin_chan_reserve(struct fin_chan *c, size_t size, void **room) {
    return FIN_UNLIKELY(cancelled_here()) ? -ECANCELED : reserve(c, size, room, false);
}

int fin_chan_reserve_nc(struct fin_chan *c, size_t size, void **room) { return reserve(c, size, room, true); }

static __attribute__((noinline)) int try_reserve_slowly(struct fin_chan *c, size_t size, void **room) {
    if (size > c->out.most)
        return -EMSGSIZE;
    out_settle(c);
    if (!turn_enter(&c->out.turn))
        return -EAGAIN;
    int r = room_now(&c->out.ump, ump_lines(size));
    if (r == -EAGAIN)
        r = no_room_yet(c);
    if (r == 0) {
        c->out.turn.mutex.locked = true;
        fin_chan_out_not_quick(c);
        begin_reservation(c, size, room);
    }
    turn_leave(&c->out.turn);
    return r;
}

int fin_chan_try_reserve(struct fin_chan *c, size_t size, void **room) {
    return quick(c, size) ? reserve_quickly(c, size, room) : try_reserve_slowly(c, size, room);
}

// To where those of a message that is no longer a long one begin.
static void move_bytes(const struct ump_tx *tx, size_t used) {
    char *line = ump_line(tx->ring, tx->head, tx->lines);
    memmove(line + UMP_HEADER, line + UMP_LINE, used);
}

static __attribute__((noinline)) int commit_slowly(struct fin_chan *c, size_t used) {
    if (used >= c->out.reserved)
        return -EINVAL;
    if (ump_offset(used) != ump_offset(c->out.reserved - 1))
        move_bytes(&c->out.ump, used);
    if (FIN_UNLIKELY(fin_trace_is_on()))
        fin_chan_trace(c, true);
    c->out.reserved = 0;
    int r = ump_publish(&c->out.ump, used, UMP_MESSAGE);
    if (c->out.ump.alone)
        fin_lmp_arrived(&c->out.ump);
    fin_chan_out_give(c);
    return r;
}

// Is there a reservation of the quick half, for which nobody waits?
static inline bool quickly_reserved(const struct fin_chan *c) {
    return c->out.quick && !c->out.turn.mutex.locked && FIN_LIKELY(!fin_trace_is_on());
}

int fin_chan_commit(struct fin_chan *c, size_t used) {
    struct ump_tx *tx = &c->out.ump;
    if (FIN_UNLIKELY(!quickly_reserved(c) || used >= c->out.reserved))
        return commit_slowly(c, used);
    c->out.reserved = 0;
    return ump_publish_at(tx, ump_line(tx->ring, tx->head, tx->lines), ump_header(tx, used, UMP_MESSAGE), tx->head + 1);
}

void fin_chan_abandon(struct fin_chan *c) {
    if (c->out.reserved == 0)
        return;
    out_settle(c);
    c->out.reserved = 0;
    fin_chan_out_give(c);
}

size_t fin_chan_most(const struct fin_chan *c) { return c->out.most; }
