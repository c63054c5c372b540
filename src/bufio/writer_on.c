// SPDX-License-Identifier: BSD-2-Clause
// Writing and flushing with a continuation, as fin_writer_write and fin_writer_flush.
#include "bufio/bufio.h"

#include <errno.h>

#include "core/told.h"

// In the program's struct fin_writer_on.
struct writing {
    struct fin_kept kept; // first: the address of this is the state of our continuations
    struct fin_writer *w;
    const char *data; // to be taken: so much of it
    size_t left, size;
    size_t *done;
    bool flushes; // and takes nothing
    bool past;    // `data` is being written, and not what is in the buffer
    union {
        struct fin_sync_on turn;
        struct fin_on descriptor;
        struct fin_more_on stream;
    } wait; // one after the other
};
_Static_assert(sizeof(struct writing) <= sizeof(struct fin_writer_on), "room for a wait");

static FIN_BLOCKING FIN_INNER void written(void *state, int n);

// Returns how much was written where that was not waited for, or why it is refused. Where the stream has no other way the
// stack is kept.
static FIN_BLOCKING ssize_t write_some(struct writing *f, const char *data, size_t bytes) {
    struct fin_writer *w = f->w;
    if (w->fd < 0)
        return w->calls->write_on
                   ? w->calls->write_on(w->stream, data, bytes, &f->wait.stream, written, &f, sizeof f)
                   : w->calls->write(w->stream, data, bytes);
    return w->is_file ? fin_write_on(&f->wait.descriptor, w->fd, data, bytes, written, &f, sizeof f)
                      : fin_send_on(&f->wait.descriptor, w->fd, data, bytes, 0, written, &f, sizeof f);
}

// Of what was written, or why nothing was. 0, or that.
static int wrote(struct writing *f, ssize_t n) {
    int error = f->past ? fin_writer_attempt(f->w, n, f->left) : fin_writer_wrote(f->w, n);
    if (f->past && error == 0) {
        f->data += n;
        f->left -= (size_t)n;
    }
    return error;
}

// Takes what has room. What the stream is to be given then: what is in the buffer, or, past that, `data`. False: nothing.
static bool next(struct writing *f, const char **data, size_t *bytes) {
    struct fin_writer *w = f->w;
    size_t n = fin_writer_put(w, f->data, f->left);
    f->data += n;
    f->left -= n;
    f->past = f->left > 0 && w->begin == w->end;
    *data = f->past ? f->data : w->space + w->begin;
    *bytes = f->past ? f->left : w->end - w->begin;
    return f->flushes ? w->begin < w->end : f->left > 0;
}

// Returns 0 once all has been taken, or has left the stream; or why not.
static FIN_BLOCKING int write_rest(struct writing *f) {
    const char *data;
    size_t bytes;
    int error = 0;
    while (error == 0 && next(f, &data, &bytes))
        error = wrote(f, write_some(f, data, bytes));
    return error || !f->flushes ? error : fin_writer_flush_all(f->w);
}

static FIN_BLOCKING void tell(struct writing *f, int error) {
    if (f->done)
        *f->done = f->size - f->left;
    fin_cont_tell(&f->kept, error);
}

// Pre: `turn` is held.
static FIN_BLOCKING void go_on(struct writing *f, int error) {
    if (error == 0)
        error = write_rest(f);
    fin_mutex_unlock(&f->w->turn);
    tell(f, error);
}

static FIN_BLOCKING FIN_INNER void written(void *state, int n) {
    struct writing *f = *(struct writing **)state;
    bool is_file = n == -ENOTSOCK && f->w->fd >= 0 && !f->w->is_file;
    f->w->is_file |= is_file;
    go_on(f, is_file ? 0 : wrote(f, n));
}

static FIN_BLOCKING FIN_INNER void has_turn(void *state, int error) {
    struct writing *f = *(struct writing **)state;
    if (error)
        tell(f, error);
    else
        go_on(f, 0);
}

// Pre: the AWE may wait.
static int begin(struct writing *f, struct fin_writer *w, fin_cont *cont, const void *state, size_t size) {
    fin_keep(&f->kept, cont, state, size);
    f->w = w;
    f->past = false;
    return fin_mutex_lock_on(&w->turn, &f->wait.turn, has_turn, &f, sizeof f);
}

int fin_writer_write_on(struct fin_writer *w, const void *data, size_t bytes, size_t *done, struct fin_writer_on *on,
                        fin_cont *cont, const void *state, size_t size) {
    struct writing *f = (struct writing *)(void *)on;
    if (done)
        *done = 0;
    int error = fin_cont_may_wait(cont, state, size);
    if (error)
        return error;
    f->data = data;
    f->left = f->size = bytes;
    f->done = done;
    f->flushes = false;
    return begin(f, w, cont, state, size);
}

int fin_writer_flush_on(struct fin_writer *w, struct fin_writer_on *on, fin_cont *cont, const void *state, size_t size) {
    struct writing *f = (struct writing *)(void *)on;
    int error = fin_cont_may_wait(cont, state, size);
    if (error)
        return error;
    f->data = NULL;
    f->left = f->size = 0;
    f->done = NULL;
    f->flushes = true;
    return begin(f, w, cont, state, size);
}
