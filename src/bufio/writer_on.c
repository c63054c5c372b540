// SPDX-License-Identifier: BSD-2-Clause
// Flushing with a continuation, as fin_writer_flush.
#include "bufio/bufio.h"

#include <errno.h>

#include "core/told.h"

// In the program's struct fin_writer_on.
struct flushing {
    struct fin_kept kept; // first: the address of this is the state of our continuations
    struct fin_writer *w;
    union {
        struct fin_sync_on turn;
        struct fin_on descriptor;
        struct fin_more_on stream;
    } wait; // one after the other
};
_Static_assert(sizeof(struct flushing) <= sizeof(struct fin_writer_on), "room for a wait");

static FIN_BLOCKING FIN_INNER void written(void *state, int n);

// Returns how much was written where that was not waited for, or why it is refused.
static ssize_t write_some(struct flushing *f) {
    struct fin_writer *w = f->w;
    const char *data = w->space + w->begin;
    size_t bytes = w->end - w->begin;
    if (w->fd < 0)
        return w->calls->write_on(w->stream, data, bytes, &f->wait.stream, written, &f, sizeof f);
    return w->is_file ? fin_write_on(&f->wait.descriptor, w->fd, data, bytes, written, &f, sizeof f)
                      : fin_send_on(&f->wait.descriptor, w->fd, data, bytes, 0, written, &f, sizeof f);
}

// Returns 0 once everything has left the stream, or why not. What cannot be waited for otherwise keeps the stack.
static FIN_BLOCKING int write_rest(struct flushing *f) {
    struct fin_writer *w = f->w;
    int error = 0;
    while (error == 0 && w->begin < w->end && (w->fd >= 0 || w->calls->write_on))
        error = fin_writer_wrote(w, write_some(f));
    return error ? error : fin_writer_flush_all(w);
}

// Pre: `turn` is held.
static FIN_BLOCKING void go_on(struct flushing *f, int error) {
    if (error == 0)
        error = write_rest(f);
    fin_mutex_unlock(&f->w->turn);
    fin_cont_tell(&f->kept, error);
}

static FIN_BLOCKING FIN_INNER void written(void *state, int n) {
    struct flushing *f = *(struct flushing **)state;
    bool is_file = n == -ENOTSOCK && f->w->fd >= 0 && !f->w->is_file;
    f->w->is_file |= is_file;
    go_on(f, is_file ? 0 : fin_writer_wrote(f->w, n));
}

static FIN_BLOCKING FIN_INNER void has_turn(void *state, int error) {
    struct flushing *f = *(struct flushing **)state;
    if (error)
        fin_cont_tell(&f->kept, error);
    else
        go_on(f, 0);
}

int fin_writer_flush_on(struct fin_writer *w, struct fin_writer_on *on, fin_cont *cont, const void *state, size_t size) {
    struct flushing *f = (struct flushing *)(void *)on;
    int error = fin_cont_may_wait(cont, state, size);
    if (error)
        return error;
    fin_keep(&f->kept, cont, state, size);
    f->w = w;
    return fin_mutex_lock_on(&w->turn, &f->wait.turn, has_turn, &f, sizeof f);
}
