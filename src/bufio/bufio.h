// SPDX-License-Identifier: BSD-2-Clause
// What the calls and those with a continuation share.
#ifndef FIN_BUFIO_ROOM_H
#define FIN_BUFIO_ROOM_H

#include <errno.h>
#include <string.h>

#include <fin/bufio.h>

// What a call of a reader waits for.
struct wanted {
    enum { LINE, UNTIL, PEEK, SKIP, READ, READ_ALL } what;
    int end;      // the last byte of a LINE, of UNTIL and SKIP
    size_t count; // of PEEK, READ and READ_ALL
    char **piece; // where the address of LINE, UNTIL and PEEK goes
    char *buffer; // of READ and READ_ALL, which so much has been put into
    size_t got;
    size_t *done; // of READ_ALL, or NULL: where that goes
    char *to;     // where the next is read to, for which there is so much room: the reader's space, or,
    size_t room;
    bool past; // past that, `buffer`
};

// What is wanted, if it has come, or all there will ever be: its length, or 0 of SKIP and READ_ALL. But for PEEK it is
// taken. -EAGAIN: more has to come, for which fin_reader_make_room makes room. -ENODATA, -EMSGSIZE: as fin_reader_line.
ssize_t fin_reader_find(struct fin_reader *r, struct wanted *w, bool ended);

// Sets w->to and w->room. What has not been taken becomes the begin of the reader's space; what is large goes past that.
void fin_reader_make_room(struct fin_reader *r, struct wanted *w);

// Of what was read there, or why nothing was: as it is. More than there was room for is an error.
ssize_t fin_reader_has(struct fin_reader *r, struct wanted *w, ssize_t n);

// Whether the end came behind a piece that was given: then it has not been told of, and need not come again.
bool fin_reader_take_end(struct fin_reader *r);

// Reads of the stream. Whether a descriptor is a socket's the first attempt tells.
FIN_BLOCKING ssize_t fin_reader_source(struct fin_reader *r, void *buffer, size_t size);

// Flushes what is tied. True: so it is, and nothing was read. Otherwise *result is what was read while the flush waited, or
// why neither was done. reads_on: for who then reads without a stack.
FIN_BLOCKING bool fin_reader_flush_tied(struct fin_reader *r, void *buffer, size_t size, bool reads_on, ssize_t *result);

// Takes what the buffer has room for: how much. None of what is to go past it, which is empty and not larger. Pre: `turn` is
// held.
size_t fin_writer_put(struct fin_writer *w, const char *data, size_t size);

// Pre: `turn` is held. Returns 0 once everything has been written, and has left the stream.
FIN_BLOCKING int fin_writer_flush_all(struct fin_writer *w);

// The last attempt to write was cancelled, but not by the program.
void fin_writer_goes_on(struct fin_writer *w);

// Whether there is nothing to be flushed, and nobody who writes.
bool fin_writer_is_flushed(struct fin_writer *w);

// What is written to takes something, and not more than it was given, or says why not.
static inline bool fin_is_count_within(ssize_t n, size_t size) { return n > 0 && (size_t)n <= size; }

// Of what was written of so many bytes, or why nothing was. 0, or that.
static inline int fin_writer_attempt(struct fin_writer *w, ssize_t n, size_t size) {
    w->failed = fin_is_count_within(n, size) ? 0 : n < 0 ? (int)n : -EIO;
    return w->failed;
}

// The same of those in the buffer.
static inline int fin_writer_wrote(struct fin_writer *w, ssize_t n) {
    int error = fin_writer_attempt(w, n, w->end - w->begin);
    if (error)
        return error;
    w->begin += (size_t)n;
    if (w->begin == w->end)
        w->begin = w->end = 0;
    return 0;
}

#endif
