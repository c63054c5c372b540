// SPDX-License-Identifier: BSD-2-Clause
// The functions of tls.c with a continuation: made of the waits of libfin that programs have, each with a continuation of
// ours, whose state is the address of what lies in the program's struct fin_more_on. Each step is a function of its own, and
// is given what the wait before it came to.
#include "tls/tls.h"

#include <poll.h>
#include <string.h>

#include <fin/on.h>
#include <fin/sync_on.h>

struct operation {
    struct fin_tls *t;
    void (*step)(struct operation *o, int r);    // after a wait
    void (*flushed)(struct operation *o, int r); // after those for all to be sent
    void *buffer;                                // to be read into
    const void *data;                            // or to be written; but `ends`: that this was all. Or the host
    size_t bytes;
    bool ends;
    int result;     // what there is to say
    fin_cont *cont; // the program's, and its state
    size_t size;
    char state[FIN_CONT_STATE] __attribute__((aligned(8)));
    union {
        struct fin_sync_on turn;
        struct fin_on socket;
    } wait; // one after the other
};
_Static_assert(sizeof(struct operation) <= sizeof(struct fin_more_on), "room for a wait");

static void resumed(void *state, int r) {
    struct operation *o = *(struct operation **)state;
    o->step(o, r);
}

// WAIT(o, next, function, arguments...): waits, and then calls next. Where that is refused, at once, on this stack.
#define WAIT(o, next, function, ...)                                                                                        \
    do {                                                                                                                    \
        (o)->step = next;                                                                                                   \
        next(o, (int)function(__VA_ARGS__, resumed, &(o), sizeof(o)));                                                      \
    } while (0)

// Calls the program's continuation, on the stack that ours has just begun on: nothing comes between what was taken and who
// is told of it. Does not return.
static void tell(struct operation *o, int result) {
    memcpy(fin_cont_state(fin_awe_self()), o->state, o->size);
    fin_call_continuation(o->cont, result);
}

static int prepare(struct operation *o, struct fin_tls *t, fin_cont *cont, const void *state, size_t size) {
    if (!cont)
        return -EINVAL;
    if (size > FIN_CONT_STATE) // as what waits says, which looks at that first
        return fin_yield_on(cont, state, size);
    if (size)
        memcpy(o->state, state, size);
    o->t = t;
    o->cont = cont;
    o->size = size;
    return 0;
}

// The first wait, which looks at all else that may be refused, and says so in a cancelled block.
static int begin(struct operation *o, struct fin_mutex *m, void (*step)(struct operation *o, int r)) {
    o->step = step;
    return fin_mutex_lock_on(m, &o->wait.turn, resumed, &o, sizeof o);
}

static void needs_no_turn(struct operation *o, int r) {
    (void)r;
    tell(o, o->result);
}

static int say(struct operation *o, int result) {
    o->result = result;
    o->step = needs_no_turn;
    return fin_yield_on(resumed, &o, sizeof o);
}

// ---- to send all

static void send_rest(struct operation *o, int r);

static void sent(struct operation *o, int n) {
    if (n > 0)
        o->t->out_at += (size_t)n;
    send_rest(o, n < 0 ? n : 0);
}

// Pre: t->sending is held.
static void send_rest(struct operation *o, int r) {
    struct fin_tls *t = o->t;
    if (r == 0 && !fin_tls_all_sent(t)) {
        WAIT(o, sent, fin_send_on, &o->wait.socket, t->fd, t->out + t->out_at, t->out_end - t->out_at, 0);
        return;
    }
    fin_tls_leave_sending(t, r);
    o->flushed(o, r);
}

static void may_send(struct operation *o, int r) {
    if (r == 0)
        send_rest(o, 0);
    else
        o->flushed(o, r);
}

static void flush(struct operation *o, void (*flushed)(struct operation *o, int r)) {
    o->flushed = flushed;
    if (fin_tls_all_sent(o->t))
        flushed(o, 0);
    else
        WAIT(o, may_send, fin_mutex_lock_on, &o->t->sending, &o->wait.turn);
}

static void flush_over(struct operation *o, int r) { tell(o, fin_tls_flushed(o->t, r)); }

int fin_tls_flush_on(struct fin_tls *t, struct fin_more_on *on, fin_cont *cont, const void *state, size_t size) {
    struct operation *o = (struct operation *)(void *)on;
    int error = prepare(o, t, cont, state, size);
    o->flushed = flush_over;
    return error ? error : begin(o, &t->sending, may_send);
}

// ---- the handshake

static void handshake_over(struct operation *o, int r) {
    fin_tls_leave_reading(o->t);
    tell(o, r);
}

static void handshake_ends(struct operation *o, int r) { handshake_over(o, fin_tls_flushed(o->t, r)); }
static void handshake_goes_on(struct operation *o, int r);

static void handshake_received(struct operation *o, int n) {
    if (n >= 0)
        fin_tls_received(o->t, (size_t)n);
    handshake_goes_on(o, n < 0 ? n : 0);
}

static void handshake_receives(struct operation *o, int r) {
    struct fin_tls *t = o->t;
    if (r == 0)
        r = fin_tls_socket_error(t);
    if (r == 0)
        WAIT(o, handshake_received, fin_recv_on, &o->wait.socket, t->fd, t->in, sizeof t->in, 0);
    else
        handshake_over(o, r);
}

// Pre: t->reading is held.
static void handshake_goes_on(struct operation *o, int r) {
    int step = r ? 0 : fin_tls_handshake_step(o->t);
    if (r != 0)
        handshake_over(o, r);
    else if (step == 0)
        flush(o, handshake_ends);
    else if (step == -EAGAIN)
        flush(o, handshake_receives);
    else if (step == -ENOBUFS)
        flush(o, handshake_goes_on);
    else
        handshake_over(o, step);
}

static void connect_has_turn(struct operation *o, int r) {
    if (r != 0)
        tell(o, r);
    else
        handshake_goes_on(o, fin_tls_begin_connect(o->t, o->data));
}

static void accept_has_turn(struct operation *o, int r) {
    if (r != 0)
        tell(o, r);
    else
        handshake_goes_on(o, fin_tls_begin_accept(o->t));
}

int fin_tls_connect_on(struct fin_tls *t, const char *host, struct fin_more_on *on, fin_cont *cont, const void *state,
                       size_t size) {
    struct operation *o = (struct operation *)(void *)on;
    int error = prepare(o, t, cont, state, size);
    o->data = host;
    return error ? error : begin(o, &t->reading, connect_has_turn);
}

int fin_tls_accept_on(struct fin_tls *t, struct fin_more_on *on, fin_cont *cont, const void *state, size_t size) {
    struct operation *o = (struct operation *)(void *)on;
    int error = prepare(o, t, cont, state, size);
    return error ? error : begin(o, &t->reading, accept_has_turn);
}

// ---- reading

static FIN_BLOCKING void read_goes_on(struct operation *o);

static void read_over(struct operation *o, int r) {
    fin_tls_leave_reading(o->t);
    tell(o, r);
}

static FIN_BLOCKING void read_received(struct operation *o, int n) {
    if (n < 0) {
        read_over(o, n);
    } else {
        fin_tls_received(o->t, (size_t)n);
        read_goes_on(o);
    }
}

static FIN_BLOCKING void read_receives(struct operation *o) {
    struct fin_tls *t = o->t;
    WAIT(o, read_received, fin_recv_on, &o->wait.socket, t->fd, t->in, sizeof t->in, 0);
}

static FIN_BLOCKING void read_sends(struct operation *o);

static FIN_BLOCKING void read_polled(struct operation *o, int ready) {
    if (ready < 0)
        read_over(o, ready);
    else if (ready == POLLOUT)
        read_sends(o);
    else
        read_receives(o);
}

// The peer may be waiting for what OpenSSL has answered.
static FIN_BLOCKING void read_sends(struct operation *o) {
    if (fin_tls_send_some(o->t))
        WAIT(o, read_polled, fin_poll_on, &o->wait.socket, o->t->fd, POLLIN | POLLOUT);
    else
        read_receives(o);
}

// Pre: t->reading is held.
static FIN_BLOCKING void read_goes_on(struct operation *o) {
    ssize_t n = fin_tls_try_read(o->t, o->buffer, o->bytes);
    if (n == -EAGAIN)
        read_sends(o);
    else
        read_over(o, (int)n);
}

static FIN_BLOCKING void read_has_turn(struct operation *o, int r) {
    if (r == 0)
        read_goes_on(o);
    else
        tell(o, r);
}

int fin_tls_read_on(struct fin_tls *t, void *buffer, size_t bytes, struct fin_more_on *on, fin_cont *cont, const void *state,
                    size_t size) {
    struct operation *o = (struct operation *)(void *)on;
    int error = prepare(o, t, cont, state, size);
    if (error)
        return error;
    o->buffer = buffer;
    o->bytes = bytes;
    return !t->ready || bytes == 0 ? say(o, t->ready ? 0 : -ENOTCONN) : begin(o, &t->reading, read_has_turn);
}

// ---- writing, and the end

static void makes_room(struct operation *o, int r);

static void taken(struct operation *o, int r) { tell(o, o->ends ? r : (int)fin_tls_written(o->t, o->result, r)); }

// Pre: there is room, or r is why not.
static void takes(struct operation *o, int r) {
    if (r == 0)
        r = o->ends ? fin_tls_take_end(o->t) : (int)fin_tls_take(o->t, o->data, o->bytes);
    o->result = r;
    if (r > 0 || (r == 0 && o->ends))
        flush(o, taken);
    else
        tell(o, r);
}

static void more_received(struct operation *o, int n) {
    if (n >= 0)
        fin_tls_received(o->t, (size_t)n);
    fin_tls_leave_reading(o->t);
    makes_room(o, n < 0 ? n : 0);
}

static void receives_more(struct operation *o, int r) {
    struct fin_tls *t = o->t;
    if (r == 0)
        WAIT(o, more_received, fin_recv_on, &o->wait.socket, t->fd, t->in, sizeof t->in, 0);
    else
        makes_room(o, r);
}

// What is locked without a wait has to be unlocked before one.
static bool nobody_reads(struct fin_tls *t) {
    if (fin_mutex_trylock(&t->reading) != 0)
        return false;
    fin_mutex_unlock(&t->reading);
    return true;
}

// Whoever reads receives it.
static void await_more(struct operation *o) {
    struct fin_tls *t = o->t;
    int r = fin_tls_socket_error(t);
    if (r != 0)
        takes(o, r);
    else if (nobody_reads(t))
        WAIT(o, receives_more, fin_mutex_lock_on, &t->reading, &o->wait.turn);
    else
        WAIT(o, makes_room, fin_event_await_on, &t->received, fin_event_read(&t->received) + 1, &o->wait.turn);
}

static void makes_room(struct operation *o, int r) {
    int step = r ? 0 : fin_tls_room_step(o->t);
    if (step == -EAGAIN)
        await_more(o);
    else if (step == -ENOBUFS)
        flush(o, makes_room);
    else
        takes(o, r ? r : step);
}

static int write_on(struct operation *o) {
    o->flushed = makes_room;
    return o->t->ready ? begin(o, &o->t->sending, may_send) : say(o, -ENOTCONN);
}

int fin_tls_write_on(struct fin_tls *t, const void *data, size_t bytes, struct fin_more_on *on, fin_cont *cont,
                     const void *state, size_t size) {
    struct operation *o = (struct operation *)(void *)on;
    int error = prepare(o, t, cont, state, size);
    o->data = data;
    o->bytes = bytes;
    o->ends = false;
    return error ? error : write_on(o);
}

int fin_tls_shutdown_on(struct fin_tls *t, struct fin_more_on *on, fin_cont *cont, const void *state, size_t size) {
    struct operation *o = (struct operation *)(void *)on;
    int error = prepare(o, t, cont, state, size);
    o->ends = true;
    return error ? error : write_on(o);
}
