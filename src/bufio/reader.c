// SPDX-License-Identifier: BSD-2-Clause
// Readers: what has come lies in one piece, so that whoever asks gets its address. Before more is read it is moved to the
// begin of the buffer: mostly a part of a line, once a system call.
#include "bufio/bufio.h"

#include <errno.h>
#include <limits.h>

#include <fin/async.h>
#include <fin/cancel.h>
#include <fin/file.h>
#include <fin/socket.h>
#include <fin/time.h>

#include "not_cancelled.h"

static int init(struct fin_reader *r, struct fin_reader value, void *space, size_t size) {
    if (!space || size < 2 || size > INT_MAX)
        return -EINVAL;
    *r = value;
    r->space = space;
    r->size = size;
    return 0;
}

int fin_reader_init(struct fin_reader *r, int fd, void *space, size_t size) {
    return fd < 0 ? -EINVAL : init(r, (struct fin_reader){.fd = fd}, space, size);
}

int fin_reader_init_from(struct fin_reader *r, const struct fin_stream_calls *calls, void *stream, void *space,
                         size_t size) {
    struct fin_reader value = {.fd = -1, .calls = calls, .stream = stream};
    return !calls || !calls->read ? -EINVAL : init(r, value, space, size);
}

void fin_reader_tie(struct fin_reader *r, struct fin_writer *w) { r->tied = w; }

static size_t held(const struct fin_reader *r) { return r->end - r->begin; }

static void take(struct fin_reader *r, size_t n) {
    r->begin += n;
    r->looked = 0;
}

// The bytes that have been looked at before do not have it, where it is the same that is looked for.
static char *find_end(struct fin_reader *r, int end) {
    char *begin = r->space + r->begin;
    size_t looked = r->looked_for == end ? r->looked : 0;
    char *found = memchr(begin + looked, end, held(r) - looked);
    r->looked_for = end;
    r->looked = held(r);
    return found;
}

// Of a line that is taken: its length without its end, which a 0 is written over.
static size_t without_end(char *line, size_t n) {
    n--;
    if (n && line[n - 1] == '\r')
        n--;
    line[n] = 0;
    return n;
}

static ssize_t find_end_of_piece(struct fin_reader *r, const struct wanted *w, bool ended, char **piece) {
    const char *at = find_end(r, w->end);
    char *begin = r->space + r->begin;
    size_t n = at ? (size_t)(at - begin) + 1 : held(r);
    if (!at && !ended)
        return n == r->size ? -EMSGSIZE : -EAGAIN;
    if (n == 0)
        return -ENODATA;
    r->end_is_due = !at;
    take(r, n);
    *piece = begin;
    if (w->what == UNTIL)
        return (ssize_t)n;
    if (at)
        return (ssize_t)without_end(begin, n);
    begin[n] = 0; // there is room: the end came where more was read
    return (ssize_t)n;
}

ssize_t fin_reader_find(struct fin_reader *r, const struct wanted *w, bool ended, char **piece) {
    if (w->what != PEEK)
        return find_end_of_piece(r, w, ended, piece);
    if (w->count > r->size)
        return -EMSGSIZE;
    if (held(r) < w->count && !ended)
        return -EAGAIN;
    *piece = r->space + r->begin;
    return (ssize_t)held(r);
}

size_t fin_reader_make_room(struct fin_reader *r) {
    memmove(r->space, r->space + r->begin, held(r));
    r->end -= r->begin;
    r->begin = 0;
    return r->size - r->end;
}

// What is read from gives no more than it was asked for.
static ssize_t within(ssize_t n, size_t room) { return n > 0 && (size_t)n > room ? -EIO : n; }

ssize_t fin_reader_has(struct fin_reader *r, ssize_t n, size_t room) {
    n = within(n, room);
    r->end += n > 0 ? (size_t)n : 0;
    return n;
}

bool fin_reader_take_end(struct fin_reader *r) {
    bool is_due = r->end_is_due;
    r->end_is_due = false;
    return is_due;
}

ssize_t fin_reader_source(struct fin_reader *r, void *buffer, size_t size) {
    if (r->fd < 0)
        return r->calls->read(r->stream, buffer, size);
    ssize_t n = r->is_file ? -ENOTSOCK : fin_recv(r->fd, buffer, size, 0);
    if (n != -ENOTSOCK)
        return n;
    r->is_file = true;
    return fin_read(r->fd, buffer, size);
}

struct flush {
    struct fin_writer *w;
    struct fin_finish_block *block; // in which it is read meanwhile
    struct fin_event over;
    int error;
    bool is_over;
    bool ends_reading; // also where it has gone well
};

static FIN_BLOCKING void flushes(void *flush) {
    struct flush *f = flush;
    f->error = fin_writer_flush(f->w);
    f->is_over = true;
    fin_event_advance(&f->over, 1);
    if (f->error || f->ends_reading)
        fin_cancel_block_(f->block);
}

// What was written may be what the peer waits for; and the peer may not read before its own writes have been read. So the
// flush does not wait alone: what is read ends it, to be gone on with before more is read. Only at the end of what is read
// it is waited for, as the program may be about to close the stream. Who reads without a stack has one for as long as the
// flush takes; mostly it does not take long enough for a request to be made, and cancelled.
bool fin_reader_flush_tied(struct fin_reader *r, void *buffer, size_t size, bool reads_on, ssize_t *result) {
    struct flush f = {.w = r->tied};
    ssize_t n = 0;
    bool reads = false;
    fin_event_init(&f.over);
    fin_finish {
        f.block = fin_self->current;
        fin_async_call(flushes, &f);
        if (!f.is_over && reads_on) {
            fin_timeout(FIN_MS) {
                fin_event_await(&f.over, 1);
            }
        }
        if (!f.is_over) {
            reads = true;
            f.ends_reading = reads_on;
            n = fin_reader_take_end(r) ? 0 : fin_reader_source(r, buffer, size);
            if (n != 0)
                fin_cancel();
        }
    }
    if (f.error == -ECANCELED && n > 0)
        fin_writer_goes_on(r->tied);
    bool failed = f.error && (n == 0 || (n < 0 && f.error != -ECANCELED));
    r->end_is_due |= reads && n == 0 && failed;
    *result = failed ? f.error : n;
    return !f.error && (!reads || n == -ECANCELED);
}

static FIN_BLOCKING ssize_t read_more(struct fin_reader *r, void *buffer, size_t size) {
    ssize_t n;
    if (r->tied && !fin_writer_is_flushed(r->tied) && !fin_reader_flush_tied(r, buffer, size, false, &n))
        return within(n, size);
    return fin_reader_take_end(r) ? 0 : within(fin_reader_source(r, buffer, size), size);
}

static FIN_BLOCKING ssize_t fill(struct fin_reader *r) {
    size_t room = fin_reader_make_room(r);
    return fin_reader_has(r, read_more(r, r->space + r->end, room), room);
}

static int enter(struct fin_reader *r) {
    int error = fin_cancelled() ? -ECANCELED : r->busy ? -EBUSY : 0;
    r->busy |= error == 0;
    return error;
}

static void leave(struct fin_reader *r) { r->busy = false; }

static FIN_BLOCKING ssize_t get(struct fin_reader *r, struct wanted w, char **piece) {
    ssize_t n = enter(r), more = 1;
    if (n != 0)
        return n;
    while ((n = fin_reader_find(r, &w, more == 0, piece)) == -EAGAIN) {
        more = fill(r);
        if (more < 0) {
            n = more;
            break;
        }
    }
    leave(r);
    return n;
}

static ssize_t try_get(struct fin_reader *r, struct wanted w, char **piece) {
    return r->busy ? -EBUSY : fin_reader_find(r, &w, false, piece);
}

static const struct wanted line = {.what = LINE, .end = '\n'};

ssize_t fin_reader_line(struct fin_reader *r, char **out) { return get(r, line, out); }
ssize_t fin_reader_line_nc(struct fin_reader *r, char **out) { NOT_CANCELLED(ssize_t, fin_reader_line(r, out)); }
ssize_t fin_reader_try_line(struct fin_reader *r, char **out) { return try_get(r, line, out); }

ssize_t fin_reader_until(struct fin_reader *r, unsigned char end, char **piece) {
    return get(r, (struct wanted){.what = UNTIL, .end = end}, piece);
}

ssize_t fin_reader_until_nc(struct fin_reader *r, unsigned char end, char **piece) {
    NOT_CANCELLED(ssize_t, fin_reader_until(r, end, piece));
}

ssize_t fin_reader_try_until(struct fin_reader *r, unsigned char end, char **piece) {
    return try_get(r, (struct wanted){.what = UNTIL, .end = end}, piece);
}

ssize_t fin_reader_peek(struct fin_reader *r, size_t count, char **piece) {
    return get(r, (struct wanted){.what = PEEK, .count = count}, piece);
}

ssize_t fin_reader_peek_nc(struct fin_reader *r, size_t count, char **piece) {
    NOT_CANCELLED(ssize_t, fin_reader_peek(r, count, piece));
}

ssize_t fin_reader_try_peek(struct fin_reader *r, size_t count, char **piece) {
    return try_get(r, (struct wanted){.what = PEEK, .count = count}, piece);
}

int fin_reader_take(struct fin_reader *r, size_t count) {
    if (r->busy || count > held(r))
        return r->busy ? -EBUSY : -EINVAL;
    take(r, count);
    return 0;
}

int fin_reader_skip(struct fin_reader *r, unsigned char end) {
    ssize_t n = enter(r);
    if (n != 0)
        return (int)n;
    const char *found = NULL;
    do {
        n = held(r) ? 1 : fill(r);
        found = n > 0 ? memchr(r->space + r->begin, end, held(r)) : NULL;
        take(r, found ? (size_t)(found - (r->space + r->begin)) + 1 : held(r));
    } while (n > 0 && !found);
    leave(r);
    return n > 0 ? 0 : n == 0 ? -ENODATA : (int)n;
}

int fin_reader_skip_nc(struct fin_reader *r, unsigned char end) { NOT_CANCELLED(int, fin_reader_skip(r, end)); }

// What there is; or what comes next, which goes past a buffer that would not take more of it.
static FIN_BLOCKING ssize_t get_some(struct fin_reader *r, void *buffer, size_t size) {
    if (held(r) == 0 && size >= r->size)
        return read_more(r, buffer, size);
    ssize_t n = held(r) == 0 ? fill(r) : 1;
    if (n <= 0)
        return n;
    n = (ssize_t)(size < held(r) ? size : held(r));
    memcpy(buffer, r->space + r->begin, (size_t)n);
    take(r, (size_t)n);
    return n;
}

ssize_t fin_reader_read(struct fin_reader *r, void *buffer, size_t size) {
    ssize_t n = enter(r);
    if (n != 0)
        return n;
    n = size ? get_some(r, buffer, size) : 0;
    leave(r);
    return n;
}

ssize_t fin_reader_read_nc(struct fin_reader *r, void *buffer, size_t size) {
    NOT_CANCELLED(ssize_t, fin_reader_read(r, buffer, size));
}

int fin_reader_read_all(struct fin_reader *r, void *buffer, size_t size, size_t *done) {
    size_t n = 0;
    int error = enter(r);
    bool entered = error == 0;
    while (error == 0 && n < size) {
        ssize_t some = get_some(r, (char *)buffer + n, size - n);
        error = some > 0 ? 0 : some == 0 ? -ENODATA : (int)some;
        n += some > 0 ? (size_t)some : 0;
    }
    if (entered)
        leave(r);
    if (done)
        *done = n;
    return error;
}

int fin_reader_read_all_nc(struct fin_reader *r, void *buffer, size_t size, size_t *done) {
    NOT_CANCELLED(int, fin_reader_read_all(r, buffer, size, done));
}
