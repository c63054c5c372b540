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

static ssize_t find_end_of_piece(struct fin_reader *r, const struct wanted *w, bool ended) {
    const char *at = find_end(r, w->end);
    char *begin = r->space + r->begin;
    size_t n = at ? (size_t)(at - begin) + 1 : held(r);
    if (!at && !ended)
        return n == r->size ? -EMSGSIZE : -EAGAIN;
    if (n == 0)
        return -ENODATA;
    r->end_is_due = !at;
    take(r, n);
    *w->piece = begin;
    if (w->what == UNTIL)
        return (ssize_t)n;
    if (at)
        return (ssize_t)without_end(begin, n);
    begin[n] = 0; // there is room: the end came where more was read
    return (ssize_t)n;
}

static ssize_t find_count(const struct fin_reader *r, const struct wanted *w, bool ended) {
    if (w->count > r->size)
        return -EMSGSIZE;
    if (held(r) < w->count && !ended)
        return -EAGAIN;
    *w->piece = r->space + r->begin;
    return (ssize_t)held(r);
}

// What it passes over is gone, whatever comes of it.
static ssize_t pass_over(struct fin_reader *r, int end, bool ended) {
    const char *begin = r->space + r->begin, *at = memchr(begin, end, held(r));
    take(r, at ? (size_t)(at - begin) + 1 : held(r));
    return at ? 0 : ended ? -ENODATA : -EAGAIN;
}

static ssize_t copy(struct fin_reader *r, struct wanted *w, bool ended) {
    size_t rest = w->count - w->got, n = held(r) < rest ? held(r) : rest;
    if (n)
        memcpy(w->buffer + w->got, r->space + r->begin, n);
    take(r, n);
    w->got += n;
    if (w->what == READ)
        return w->got || ended || w->count == 0 ? (ssize_t)w->got : -EAGAIN;
    return w->got == w->count ? 0 : ended ? -ENODATA : -EAGAIN;
}

ssize_t fin_reader_find(struct fin_reader *r, struct wanted *w, bool ended) {
    switch (w->what) {
    case PEEK:
        return find_count(r, w, ended);
    case SKIP:
        return pass_over(r, w->end, ended);
    case READ:
    case READ_ALL:
        return copy(r, w, ended);
    default:
        return find_end_of_piece(r, w, ended);
    }
}

void fin_reader_make_room(struct fin_reader *r, struct wanted *w) {
    w->past = w->buffer && w->count - w->got >= r->size; // all that was held has been copied
    if (w->past) {
        w->to = w->buffer + w->got;
        w->room = w->count - w->got;
        return;
    }
    memmove(r->space, r->space + r->begin, held(r));
    r->end -= r->begin;
    r->begin = 0;
    w->to = r->space + r->end;
    w->room = r->size - r->end;
}

ssize_t fin_reader_has(struct fin_reader *r, struct wanted *w, ssize_t n) {
    if (n > 0 && (size_t)n > w->room) // what is read from gives no more than it was asked for
        return -EIO;
    if (n > 0)
        *(w->past ? &w->got : &r->end) += (size_t)n;
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
        fin_cancel_block(f->block);
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
        f.block = fin_this_block();
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
    if (f.error == -ECANCELED && n != 0 && n != -ECANCELED) // by what was read, not by the program
        fin_writer_goes_on(r->tied);
    bool failed = f.error && (n == 0 || (n < 0 && f.error != -ECANCELED));
    r->end_is_due |= reads && n == 0 && failed;
    *result = failed ? f.error : n;
    return !f.error && (!reads || n == -ECANCELED);
}

static FIN_BLOCKING ssize_t read_more(struct fin_reader *r, struct wanted *w) {
    ssize_t n;
    fin_reader_make_room(r, w);
    if (r->tied && !fin_writer_is_flushed(r->tied) && !fin_reader_flush_tied(r, w->to, w->room, false, &n))
        return fin_reader_has(r, w, n);
    return fin_reader_take_end(r) ? 0 : fin_reader_has(r, w, fin_reader_source(r, w->to, w->room));
}

// Pre: `busy` is the caller's.
static FIN_BLOCKING ssize_t get_all(struct fin_reader *r, struct wanted *w) {
    ssize_t n, more = 1;
    while ((n = fin_reader_find(r, w, more == 0)) == -EAGAIN)
        if ((more = read_more(r, w)) < 0)
            return more;
    return n;
}

static FIN_BLOCKING ssize_t get(struct fin_reader *r, struct wanted w) {
    ssize_t n = fin_cancelled() ? -ECANCELED : r->busy ? -EBUSY : 0;
    if (n == 0) {
        r->busy = true;
        n = get_all(r, &w);
        r->busy = false;
    }
    if (w.done)
        *w.done = w.got;
    return n;
}

static ssize_t try_get(struct fin_reader *r, struct wanted w) { return r->busy ? -EBUSY : fin_reader_find(r, &w, false); }

static struct wanted line(char **out) { return (struct wanted){.what = LINE, .end = '\n', .piece = out}; }

ssize_t fin_reader_line(struct fin_reader *r, char **out) { return get(r, line(out)); }
ssize_t fin_reader_line_nc(struct fin_reader *r, char **out) { NOT_CANCELLED(ssize_t, fin_reader_line(r, out)); }
ssize_t fin_reader_try_line(struct fin_reader *r, char **out) { return try_get(r, line(out)); }

ssize_t fin_reader_until(struct fin_reader *r, unsigned char end, char **piece) {
    return get(r, (struct wanted){.what = UNTIL, .end = end, .piece = piece});
}

ssize_t fin_reader_until_nc(struct fin_reader *r, unsigned char end, char **piece) {
    NOT_CANCELLED(ssize_t, fin_reader_until(r, end, piece));
}

ssize_t fin_reader_try_until(struct fin_reader *r, unsigned char end, char **piece) {
    return try_get(r, (struct wanted){.what = UNTIL, .end = end, .piece = piece});
}

ssize_t fin_reader_peek(struct fin_reader *r, size_t count, char **piece) {
    return get(r, (struct wanted){.what = PEEK, .count = count, .piece = piece});
}

ssize_t fin_reader_peek_nc(struct fin_reader *r, size_t count, char **piece) {
    NOT_CANCELLED(ssize_t, fin_reader_peek(r, count, piece));
}

ssize_t fin_reader_try_peek(struct fin_reader *r, size_t count, char **piece) {
    return try_get(r, (struct wanted){.what = PEEK, .count = count, .piece = piece});
}

int fin_reader_take(struct fin_reader *r, size_t count) {
    if (r->busy || count > held(r))
        return r->busy ? -EBUSY : -EINVAL;
    take(r, count);
    return 0;
}

int fin_reader_skip(struct fin_reader *r, unsigned char end) {
    return (int)get(r, (struct wanted){.what = SKIP, .end = end});
}

int fin_reader_skip_nc(struct fin_reader *r, unsigned char end) { NOT_CANCELLED(int, fin_reader_skip(r, end)); }

ssize_t fin_reader_read(struct fin_reader *r, void *buffer, size_t size) {
    return get(r, (struct wanted){.what = READ, .count = size, .buffer = buffer});
}

ssize_t fin_reader_read_nc(struct fin_reader *r, void *buffer, size_t size) {
    NOT_CANCELLED(ssize_t, fin_reader_read(r, buffer, size));
}

int fin_reader_read_all(struct fin_reader *r, void *buffer, size_t size, size_t *done) {
    return (int)get(r, (struct wanted){.what = READ_ALL, .count = size, .buffer = buffer, .done = done});
}

int fin_reader_read_all_nc(struct fin_reader *r, void *buffer, size_t size, size_t *done) {
    NOT_CANCELLED(int, fin_reader_read_all(r, buffer, size, done));
}
