// SPDX-License-Identifier: BSD-2-Clause
// Writers: what was taken lies in one piece, from where the stream has it to where the next goes.
#include "bufio/bufio.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include <fin/cancel.h>
#include <fin/file.h>
#include <fin/socket.h>

#include "not_cancelled.h"

static int init(struct fin_writer *w, struct fin_writer value, void *space, size_t size) {
    if (!space || size < 2 || size > INT_MAX)
        return -EINVAL;
    *w = value;
    fin_mutex_init(&w->turn);
    w->space = space;
    w->size = size;
    return 0;
}

int fin_writer_init(struct fin_writer *w, int fd, void *space, size_t size) {
    return fd < 0 ? -EINVAL : init(w, (struct fin_writer){.fd = fd}, space, size);
}

int fin_writer_init_to(struct fin_writer *w, const struct fin_stream_calls *calls, void *stream, void *space, size_t size) {
    struct fin_writer value = {.fd = -1, .calls = calls, .stream = stream};
    return !calls || !calls->write ? -EINVAL : init(w, value, space, size);
}

// As fin_reader_source.
static FIN_BLOCKING ssize_t sink(struct fin_writer *w, const void *data, size_t size) {
    if (w->fd < 0)
        return w->calls->write(w->stream, data, size);
    ssize_t n = w->is_file ? -ENOTSOCK : fin_send(w->fd, data, size, 0);
    if (n != -ENOTSOCK)
        return n;
    w->is_file = true;
    return fin_write(w->fd, data, size);
}

// Pre: `turn` is held. Returns 0 once everything has been written.
static FIN_BLOCKING int empty(struct fin_writer *w) {
    int error = 0;
    while (error == 0 && w->begin < w->end)
        error = fin_writer_wrote(w, sink(w, w->space + w->begin, w->end - w->begin));
    return error;
}

static bool can_flush(const struct fin_writer *w) { return w->fd < 0 && w->calls->flush; }

int fin_writer_flush_all(struct fin_writer *w) {
    int error = empty(w);
    if (error == 0 && can_flush(w)) {
        error = w->calls->flush(w->stream);
        w->failed = error = error > 0 ? -EIO : error;
    }
    return error;
}

void fin_writer_goes_on(struct fin_writer *w) {
    if (fin_mutex_trylock(&w->turn) != 0) // who writes now finds out for himself
        return;
    if (w->failed == -ECANCELED) // it was the last
        w->failed = 0;
    fin_mutex_unlock(&w->turn);
}

bool fin_writer_is_flushed(struct fin_writer *w) {
    if (can_flush(w) || fin_mutex_trylock(&w->turn) != 0)
        return false;
    bool is = w->begin == w->end;
    fin_mutex_unlock(&w->turn);
    return is;
}

size_t fin_writer_put(struct fin_writer *w, const char *data, size_t size) {
    size_t n = size < w->size - w->end ? size : w->size - w->end;
    if (n == 0 || (w->begin == w->end && size >= w->size))
        return 0;
    memcpy(w->space + w->end, data, n);
    w->end += n;
    return n;
}

// A part, at least a byte: into the buffer, or past it. Returns its length, or why none was taken. Pre: `turn` is held.
static FIN_BLOCKING ssize_t put_some(struct fin_writer *w, const char *data, size_t size) {
    int error = w->end == w->size ? empty(w) : 0;
    if (error)
        return error;
    size_t taken = fin_writer_put(w, data, size);
    if (taken > 0)
        return (ssize_t)taken;
    ssize_t n = sink(w, data, size);
    error = fin_writer_attempt(w, n, size);
    return error ? error : n;
}

int fin_writer_write(struct fin_writer *w, const void *data, size_t size, size_t *done) {
    size_t n = 0;
    int error = fin_mutex_lock(&w->turn);
    bool locked = error == 0;
    while (error == 0 && n < size) {
        ssize_t some = put_some(w, (const char *)data + n, size - n);
        error = some > 0 ? 0 : (int)some;
        n += some > 0 ? (size_t)some : 0;
    }
    if (locked)
        fin_mutex_unlock(&w->turn);
    if (done)
        *done = n;
    return error;
}

int fin_writer_write_nc(struct fin_writer *w, const void *data, size_t size, size_t *done) {
    NOT_CANCELLED(int, fin_writer_write(w, data, size, done));
}

int fin_writer_try_write(struct fin_writer *w, const void *data, size_t size) {
    if (size > w->size)
        return -EMSGSIZE;
    if (fin_mutex_trylock(&w->turn) != 0)
        return -EAGAIN;
    bool fits = size <= w->size - w->end;
    if (fits) {
        memcpy(w->space + w->end, data, size);
        w->end += size;
    }
    fin_mutex_unlock(&w->turn);
    return fits ? 0 : -EAGAIN;
}

// Into the room that there is, with the 0 that ends it: how many bytes it is, or would be, or why it is none. `error` is the
// program's errno, for %m.
static int format_into(const struct fin_writer *w, int error, const char *format, va_list arguments) {
    errno = error;
    int n = vsnprintf(w->space + w->end, w->size - w->end, format, arguments);
    return n >= 0 ? n : errno ? -errno : -EINVAL;
}

// Pre: `turn` is held.
static FIN_BLOCKING int put_formatted(struct fin_writer *w, int errno_before, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int n = format_into(w, errno_before, format, arguments), error = 0;
    if (n >= 0 && (size_t)n >= w->size - w->end) {
        error = (size_t)n >= w->size ? -EMSGSIZE : empty(w);
        n = error ? error : format_into(w, errno_before, format, again);
        if (n >= 0 && (size_t)n >= w->size) // of something that has changed meanwhile
            n = -EMSGSIZE;
    }
    va_end(again);
    w->end += n > 0 ? (size_t)n : 0;
    return n;
}

int fin_writer_vprintf(struct fin_writer *w, const char *format, va_list arguments) {
    int errno_before = errno, n = fin_mutex_lock(&w->turn);
    if (n != 0)
        return n;
    n = put_formatted(w, errno_before, format, arguments);
    fin_mutex_unlock(&w->turn);
    return n;
}

int fin_writer_vprintf_nc(struct fin_writer *w, const char *format, va_list arguments) {
    NOT_CANCELLED(int, fin_writer_vprintf(w, format, arguments));
}

int fin_writer_printf(struct fin_writer *w, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = fin_writer_vprintf(w, format, arguments);
    va_end(arguments);
    return n;
}

int fin_writer_printf_nc(struct fin_writer *w, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = fin_writer_vprintf_nc(w, format, arguments);
    va_end(arguments);
    return n;
}

int fin_writer_flush(struct fin_writer *w) {
    int error = fin_mutex_lock(&w->turn);
    if (error)
        return error;
    error = fin_writer_flush_all(w);
    fin_mutex_unlock(&w->turn);
    return error;
}

int fin_writer_flush_nc(struct fin_writer *w) { NOT_CANCELLED(int, fin_writer_flush(w)); }

ssize_t fin_writer_discard(struct fin_writer *w) {
    if (fin_mutex_trylock(&w->turn) != 0)
        return -EBUSY;
    ssize_t n = (ssize_t)(w->end - w->begin);
    w->begin = w->end = 0;
    w->failed = 0;
    fin_mutex_unlock(&w->turn);
    return n;
}
