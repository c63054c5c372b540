// SPDX-License-Identifier: BSD-2-Clause
// Sending with a continuation: waits only while there is no room.
#include "chan/on.h"

static FIN_INNER void woken(void *state, int result);

// The message has been sent, or not.
static int sent(struct chan_on *on, int result) {
    return result == 0 && on->receives ? fin_chan_on_receive(on, false) : chan_on_end(on, result);
}

static int give_and_end(struct chan_on *on, int result) {
    fin_chan_out_give(on->chan);
    return sent(on, result);
}

static int put_now(const struct chan_on *on) {
    return fin_chan_put_now(on->chan, on->behind ? &on->word : NULL, on->data, on->size);
}

static void has_slept(const struct chan_on *on) {
    if (on->behind)
        fin_rpc_has_slept(on->chan, on->word);
    __atomic_store_n(&on->chan->out.ump.own->armed, 0, __ATOMIC_RELAXED);
}

// With the turn. As fin_ump_await_room.
static int await_room(struct chan_on *on, bool again) {
    struct ump_tx *tx = &on->chan->out.ump;
    int r = put_now(on);
    if (r != -EAGAIN)
        return give_and_end(on, r);
    uint64_t heard = tx->meeting ? fin_event_read(&tx->meeting->room) : 0;
    __atomic_store_n(&tx->own->armed, ++tx->armed, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    r = put_now(on);
    if (r == -EAGAIN && on->behind)
        r = fin_rpc_no_room(on->chan, on->word, again) == 0 ? -EAGAIN : -ENOMEM;
    if (r == -EAGAIN)
        r = tx->meeting ? fin_event_await_message_on(&tx->meeting->room, heard + 1, &on->wait.sync, woken, &on, sizeof on)
                        : fin_on_readable(&on->wait.io, tx->fd, woken, &on, sizeof on);
    has_slept(on);
    return give_and_end(on, r);
}

static FIN_INNER void woken(void *state, int result) {
    struct chan_on *on = *(struct chan_on **)state;
    struct ump_tx *tx = &on->chan->out.ump;
    struct unwanted u = {.count = 0};
    has_slept(on);
    if (!fin_bell_of_this_wait(result))
        result = fin_bell_hear_room(tx, &u);
    bell_close(&u);
    if (fin_bell_of_this_wait(result)) {
        give_and_end(on, result);
        return;
    }
    await_room(on, true);
}

static FIN_INNER void has_turn(void *state, int result) {
    struct chan_on *on = *(struct chan_on **)state;
    if (result < 0) {
        chan_on_end(on, result);
        return;
    }
    fin_chan_out_not_quick(on->chan);
    await_room(on, false);
}

int fin_chan_on_send(struct chan_on *on) {
    struct turn *t = &on->chan->out.turn;
    int r = on->behind ? fin_chan_send_behind_now(on->chan, on->word, on->data, on->size)
                     : fin_chan_send_now(on->chan, on->data, on->size);
    if (r != -EAGAIN)
        return sent(on, r);
    if (t->shared || t->mutex.locked)
        return fin_mutex_lock_on(&t->mutex, &on->wait.sync, has_turn, &on, sizeof on);
    t->mutex.locked = true;
    fin_chan_out_not_quick(on->chan);
    return await_room(on, false);
}

int fin_chan_send_on(struct fin_chan *c, const void *data, size_t size, struct fin_chan_on *storage, fin_cont *cont,
                     const void *state, size_t state_size) {
    struct chan_on *on = chan_on_of(storage);
    int r = fin_cont_begin(cont, state_size, true);
    if (r < 0)
        return r;
    r = r > 0 ? -ECANCELED : fin_chan_send_now(c, data, size);
    if (r != -EAGAIN)
        return fin_cont_call(cont, state, state_size, r);
    on->chan = c;
    on->data = data;
    on->size = size;
    on->receives = on->behind = false;
    fin_keep(&on->kept, cont, state, state_size);
    return fin_chan_on_send(on);
}
