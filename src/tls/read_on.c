// SPDX-License-Identifier: BSD-2-Clause
// fin_tls_read with a continuation: made of the waits of libfin that programs have, each with a continuation of ours, whose
// state is the address of what lies in the program's struct fin_more_on.
#include "tls/tls.h"

#include <poll.h>
#include <string.h>

#include <fin/on.h>
#include <fin/sync_on.h>

struct reading {
    struct fin_tls *t;
    void *buffer;
    size_t bytes;
    fin_cont *cont; // the program's, and its state
    size_t size;
    char state[FIN_CONT_STATE] __attribute__((aligned(8)));
    int result; // where there is nothing to wait for
    union {
        struct fin_sync_on turn;
        struct fin_on socket;
    } wait; // one after the other
};
_Static_assert(sizeof(struct reading) <= sizeof(struct fin_more_on), "room for a wait");

// Calls the program's continuation, on the stack that ours has just begun on: nothing comes between what was taken and who
// is told of it. Does not return.
static void tell(const struct reading *r, int result) {
    memcpy(fin_cont_state(fin_awe_self()), r->state, r->size);
    fin_call_continuation(r->cont, result);
}

static void over(const struct reading *r, int result) {
    fin_tls_leave_reading(r->t);
    tell(r, result);
}

static void polled(void *state, int ready);
static void received(void *state, int n);

// These return where they are refused.
static ssize_t receive(struct reading *r) {
    return fin_recv_on(&r->wait.socket, r->t->fd, r->t->in, sizeof r->t->in, 0, received, &r, sizeof r);
}

// The peer may be waiting for what OpenSSL has answered.
static ssize_t send_and_receive(struct reading *r) {
    if (fin_tls_send_some(r->t))
        return fin_poll_on(&r->wait.socket, r->t->fd, POLLIN | POLLOUT, polled, &r, sizeof r);
    return receive(r);
}

static void polled(void *state, int ready) {
    struct reading *r = *(struct reading **)state;
    over(r, ready < 0 ? ready : (int)(ready == POLLOUT ? send_and_receive(r) : receive(r)));
}

// Pre: t->reading is this AWE's.
static FIN_BLOCKING void go_on(struct reading *r) {
    ssize_t n = fin_tls_try_read(r->t, r->buffer, r->bytes);
    over(r, (int)(n == -EAGAIN ? send_and_receive(r) : n));
}

static FIN_BLOCKING void received(void *state, int n) {
    struct reading *r = *(struct reading **)state;
    if (n < 0) {
        over(r, n);
    } else {
        fin_tls_received(r->t, (size_t)n);
        go_on(r);
    }
}

static FIN_BLOCKING void has_turn(void *state, int result) {
    struct reading *r = *(struct reading **)state;
    if (result == 0)
        go_on(r);
    else
        tell(r, result);
}

static void needs_no_turn(void *state, int result) {
    const struct reading *r = *(struct reading **)state;
    (void)result;
    tell(r, r->result);
}

int fin_tls_read_on(struct fin_tls *t, void *buffer, size_t bytes, struct fin_more_on *on, fin_cont *cont, const void *state,
                    size_t size) {
    struct reading *r = (struct reading *)(void *)on;
    if (!cont)
        return -EINVAL;
    if (size > FIN_CONT_STATE) // as what waits says, which looks at that first
        return fin_yield_on(cont, state, size);
    if (size)
        memcpy(r->state, state, size);
    r->t = t;
    r->buffer = buffer;
    r->bytes = bytes;
    r->cont = cont;
    r->size = size;
    r->result = t->ready ? 0 : -ENOTCONN;
    if (r->result || bytes == 0)
        return fin_yield_on(needs_no_turn, &r, sizeof r);
    return fin_mutex_lock_on(&t->reading, &r->wait.turn, has_turn, &r, sizeof r);
}
