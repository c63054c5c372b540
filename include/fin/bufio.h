// SPDX-License-Identifier: BSD-2-Clause
// Buffers between a program and a stream. A reader finds lines, and pieces of a known length, in what comes; a writer
// gathers what is written until it is flushed. So small pieces take no system call each.
//
//     char before[4096], behind[4096], *line;
//     struct fin_reader in;
//     struct fin_writer out;
//     fin_reader_init(&in, fd, before, sizeof before);
//     fin_writer_init(&out, fd, behind, sizeof behind);
//     fin_reader_tie(&in, &out); // all lines that have come are answered in one piece
//     while (fin_reader_line(&in, &line) >= 0)
//         fin_writer_printf(&out, "%s, too\n", line);
//
// The memory is the caller's, and nothing is allocated: no peer can make a program keep more than that, and nothing fails
// for want of memory. There is nothing to be freed. While no call is in progress a reader or writer may be moved; a tie to a
// writer that was moved has to be made again. After a fork parent and child each have what was gathered: one of them flushes
// it. They are for streams: of a datagram that is longer than the room that there is the rest is lost.
//
// Cancellation is exact. A cancelled call of a reader has taken nothing, or, where it says how much it has transferred, just
// that: what has come meanwhile is there for the next call. A cancelled write says how much it took; what was taken is sent
// once, in order, by later writes or fin_writer_flush. So is it after an error of the stream's, which calls return as it is.
// In a block that is cancelled already calls that may wait return -ECANCELED at once, even where they would not have had to
// wait; those whose names end in _nc are not cancelled.
//
// A reader is for one AWE at a time: who comes while another one of its thread waits, or is about to be told, hears -EBUSY.
// Another thread may go on with it between two calls. The AWEs that write to one writer, of any threads, take turns in the
// order in which they came: what one call writes lies together.
#ifndef FIN_BUFIO_H
#define FIN_BUFIO_H

#include <fin/on.h>
#include <fin/sync.h>
#include <fin/sync_on.h>

#include <stdarg.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// Where a reader reads from if not from a descriptor, and what a writer writes to: functions that are given `stream`.
// fin/tls.h has those of a connection.
struct fin_stream_calls {
    // As fin_read and fin_write: a count, which may be smaller than asked for; 0 is the end of what is read; or a negative
    // errno. They may block; a cancelled call has done nothing. NULL in what is only written to, or only read from.
    ssize_t (*read)(void *stream, void *buffer, size_t size);
    ssize_t (*write)(void *stream, const void *data, size_t size);
    // The same with continuations (fin/on.h). Where nothing has to be waited for they may return the result instead. NULL:
    // who waits in this way keeps a stack meanwhile.
    int (*read_on)(void *stream, void *buffer, size_t bytes, struct fin_more_on *on, fin_cont *cont, const void *state,
                   size_t size);
    int (*write_on)(void *stream, const void *data, size_t bytes, struct fin_more_on *on, fin_cont *cont, const void *state,
                    size_t size);
    // Waits until what was written has left the stream, too: 0, or a negative errno. It ends each flush. NULL: nothing to
    // do.
    int (*flush)(void *stream);
};

struct fin_writer;

// The fields are the library's.
struct fin_reader {
    char *space;
    size_t size, begin, end; // of the bytes that have come, those from `begin` to `end` have not been taken
    size_t looked;           // how many of these have been looked at for `looked_for`
    int looked_for;
    bool busy, is_file, end_is_due;
    int fd; // -1: `calls`
    const struct fin_stream_calls *calls;
    void *stream;
    struct fin_writer *tied;
};

// A reader of a descriptor: a socket, pipe, terminal or file, which stays the caller's to close. It keeps up to `size` bytes
// in `space`. fin_reader_init_from: of any other stream; *calls must last as long. Return 0, or -EINVAL: no space, or one of
// less than 2 bytes or more than INT_MAX, a negative descriptor, or a stream that cannot be read. Do not block.
int fin_reader_init(struct fin_reader *r, int fd, void *space, size_t size);
int fin_reader_init_from(struct fin_reader *r, const struct fin_stream_calls *calls, void *stream, void *space,
                         size_t size);

// From now on, before the reader reads more, it flushes w, and returns the error if that fails. So a program that answers
// what it reads sends the answers in as few pieces as can be, and none too late; and a relay, where each reader is tied to
// the writer that it copies to, copies in as few pieces. NULL: no longer. A flush that has to wait
// does not keep the reader from reading: what comes meanwhile is given first, and the flush goes on before more is read; at
// the end of the stream it is waited for. What other AWEs write while the reader waits they flush themselves. Not during a
// call. Does not block.
void fin_reader_tie(struct fin_reader *r, struct fin_writer *w);

// The next line, which is taken; *line is its begin. It ends where "\n" or "\r\n" was, which a 0 is written over and which
// does not count; what comes after the last such end is a line, too, if it is not empty. Returns the length, -ENODATA at the
// end of the stream, an error of the stream's; or -EMSGSIZE if the reader is full and there is no end of a line: then
// nothing is taken (fin_reader_skip passes over it). With its end a line may take all of the buffer. *line stays until the
// next call that reads, and may be changed. Blocking. fin_reader_try_line reads nothing: it returns -EAGAIN if no whole line
// is there. It is not cancelled.
FIN_BLOCKING ssize_t fin_reader_line(struct fin_reader *r, char **line);
FIN_BLOCKING ssize_t fin_reader_line_nc(struct fin_reader *r, char **line);
ssize_t fin_reader_try_line(struct fin_reader *r, char **line);

// The same with any byte as the end, which is not written over and counts. What comes after the last such byte does not have
// it.
FIN_BLOCKING ssize_t fin_reader_until(struct fin_reader *r, unsigned char end, char **piece);
FIN_BLOCKING ssize_t fin_reader_until_nc(struct fin_reader *r, unsigned char end, char **piece);
ssize_t fin_reader_try_until(struct fin_reader *r, unsigned char end, char **piece);

// Waits until there are `count` bytes, or the stream ends. Returns how many there are, which may be more or, at the end,
// fewer; -EMSGSIZE if so many never fit. *piece is their begin. They are not taken: fin_reader_take does that, and returns
// 0; -EINVAL if there are not so many, -EBUSY. It does not block, and leaves *piece.
FIN_BLOCKING ssize_t fin_reader_peek(struct fin_reader *r, size_t count, char **piece);
FIN_BLOCKING ssize_t fin_reader_peek_nc(struct fin_reader *r, size_t count, char **piece);
ssize_t fin_reader_try_peek(struct fin_reader *r, size_t count, char **piece);
int fin_reader_take(struct fin_reader *r, size_t count);

// Passes over what comes up to, and with, the next such byte, however much that is: the rest of a line that was -EMSGSIZE.
// Returns 0, -ENODATA if the stream ends before, or an error; what it has passed over by then is gone. Blocking.
FIN_BLOCKING int fin_reader_skip(struct fin_reader *r, unsigned char end);
FIN_BLOCKING int fin_reader_skip_nc(struct fin_reader *r, unsigned char end);

// As fin_read: what there is, or the next of the stream, which goes past the buffer if it is large. Blocking.
FIN_BLOCKING ssize_t fin_reader_read(struct fin_reader *r, void *buffer, size_t size);
FIN_BLOCKING ssize_t fin_reader_read_nc(struct fin_reader *r, void *buffer, size_t size);

// As fin_read_all: 0, or the reason why not all has come, and *done, if done is not NULL, says how much. Blocking.
FIN_BLOCKING int fin_reader_read_all(struct fin_reader *r, void *buffer, size_t size, size_t *done);
FIN_BLOCKING int fin_reader_read_all_nc(struct fin_reader *r, void *buffer, size_t size, size_t *done);

// The same with a continuation; *piece and *done are written before it runs. They do not return unless they are refused, as
// the functions of fin/on.h. While what is tied has to wait for the peer they keep a stack.
struct fin_reader_on {
    uint64_t room[72];
};
int fin_reader_line_on(struct fin_reader *r, char **line, struct fin_reader_on *on, fin_cont *cont, const void *state,
                       size_t size);
int fin_reader_until_on(struct fin_reader *r, unsigned char end, char **piece, struct fin_reader_on *on, fin_cont *cont,
                        const void *state, size_t size);
int fin_reader_peek_on(struct fin_reader *r, size_t count, char **piece, struct fin_reader_on *on, fin_cont *cont,
                       const void *state, size_t size);
int fin_reader_skip_on(struct fin_reader *r, unsigned char end, struct fin_reader_on *on, fin_cont *cont, const void *state,
                       size_t size);
int fin_reader_read_on(struct fin_reader *r, void *buffer, size_t bytes, struct fin_reader_on *on, fin_cont *cont,
                       const void *state, size_t size);
int fin_reader_read_all_on(struct fin_reader *r, void *buffer, size_t bytes, size_t *done, struct fin_reader_on *on,
                           fin_cont *cont, const void *state, size_t size);

// The fields are the library's.
struct fin_writer {
    struct fin_mutex turn;
    char *space;
    size_t size, begin, end; // those from `begin` to `end` have been taken and not been written
    bool is_file;
    int failed;              // why the last attempt to write did not end well, or 0
    int fd;                  // -1: `calls`
    const struct fin_stream_calls *calls;
    void *stream;
};

// A writer to a descriptor, as fin_send to a socket (which raises no SIGPIPE) and as fin_write to what is none; or to any
// other stream; *calls must last as long. Return 0, or -EINVAL as fin_reader_init. Do not block. What is not flushed when a
// writer is given up is lost.
int fin_writer_init(struct fin_writer *w, int fd, void *space, size_t size);
int fin_writer_init_to(struct fin_writer *w, const struct fin_stream_calls *calls, void *stream, void *space, size_t size);

// Writes: what has no room waits until the rest has been given to the stream; what is longer than the buffer goes past it.
// Returns 0; or the reason why not all was taken: -ECANCELED, or an error of the stream's. *done, if done is not NULL, is
// how much was. Blocking.
FIN_BLOCKING int fin_writer_write(struct fin_writer *w, const void *data, size_t size, size_t *done);
FIN_BLOCKING int fin_writer_write_nc(struct fin_writer *w, const void *data, size_t size, size_t *done);

// Takes all of it if there is room: 0. -EAGAIN: there is none before a flush, or another AWE is writing; -EMSGSIZE: there
// never is. Does not block, and is not cancelled.
int fin_writer_try_write(struct fin_writer *w, const void *data, size_t size);

// As printf. Returns the count of bytes, all of which were taken; or a negative errno, and none was: -EMSGSIZE if there are
// as many as the buffer has, or more; or an error of the format, as vsnprintf has it. Blocking.
FIN_BLOCKING int fin_writer_printf(struct fin_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
FIN_BLOCKING int fin_writer_printf_nc(struct fin_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
FIN_BLOCKING int fin_writer_vprintf(struct fin_writer *w, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
FIN_BLOCKING int fin_writer_vprintf_nc(struct fin_writer *w, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

// Waits until all that was taken has been given to the stream, and has left it (fin_stream_calls.flush). Returns 0, or the
// reason why not; the rest is kept. Blocking.
FIN_BLOCKING int fin_writer_flush(struct fin_writer *w);
FIN_BLOCKING int fin_writer_flush_nc(struct fin_writer *w);

// How many bytes were taken and have not been written yet; and why the last attempt to write any did not end well, or 0.
static inline size_t fin_writer_held(const struct fin_writer *w) { return w->end - w->begin; }
static inline int fin_writer_error(const struct fin_writer *w) { return w->failed; }

// Gives up what was taken and has not been written, as where the peer does not read any more. Returns how many bytes that
// was, or -EBUSY if an AWE is writing. Does not block.
ssize_t fin_writer_discard(struct fin_writer *w);

// With a continuation: as fin_writer_write and fin_writer_flush; *done is written before it runs, until which the data must
// stay. They do not return unless they are refused. A stream that cannot be waited for otherwise keeps the stack.
struct fin_writer_on {
    uint64_t room[67];
};
int fin_writer_write_on(struct fin_writer *w, const void *data, size_t bytes, size_t *done, struct fin_writer_on *on,
                        fin_cont *cont, const void *state, size_t size);
int fin_writer_flush_on(struct fin_writer *w, struct fin_writer_on *on, fin_cont *cont, const void *state, size_t size);

#ifdef __cplusplus
}
#endif
#endif
