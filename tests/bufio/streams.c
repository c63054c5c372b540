// SPDX-License-Identifier: BSD-2-Clause
// What a reader and a writer ask of the functions of a stream, and what they make of their answers: with a stack and
// without.
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

static char space[8], behind[64], text[16] = "abcd", *at, bytes[128];
static struct fin_reader r;
static struct fin_writer w;
static struct fin_reader_on on;
static struct fin_writer_on flush_on;
static int told, calls, calls_on, flushes, written;
static size_t asked;
static void *into;
static struct fin_event may_write;

// ---- to be read from

static ssize_t gives_line(void *unused, void *buffer, size_t size) {
    (void)unused;
    calls++, asked = size, into = buffer;
    memcpy(buffer, "a\n", 2);
    return 2;
}

static ssize_t gives_too_much(void *unused, void *buffer, size_t size) {
    (void)unused, (void)buffer;
    return (ssize_t)size + 1;
}

static ssize_t is_no_socket(void *unused, void *buffer, size_t size) {
    (void)unused, (void)buffer, (void)size;
    calls++;
    return -ENOTSOCK;
}

static ssize_t gives_nothing(void *unused, void *buffer, size_t size) {
    (void)unused, (void)buffer, (void)size;
    calls++;
    return fin_sleep(10 * FIN_S);
}

static int gives_nothing_on(void *unused, void *buffer, size_t size, struct fin_more_on *more, fin_cont *cont,
                            const void *state, size_t state_size) {
    (void)unused, (void)buffer, (void)size;
    calls_on++;
    return fin_sleep_on((struct fin_on *)(void *)more, 10 * FIN_S, cont, state, state_size);
}

static ssize_t breaks_off(void *result, void *buffer, size_t size) {
    (void)buffer, (void)size;
    int error = fin_sleep(FIN_MS);
    return error ? error : *(ssize_t *)result;
}

// What recv(2) says of a pipe.
static int is_pipe(void *fd, void *buffer, size_t size, struct fin_more_on *more, fin_cont *cont, const void *state,
                   size_t state_size) {
    calls_on++;
    return fin_recv_on((struct fin_on *)(void *)more, *(int *)fd, buffer, size, 0, cont, state, state_size);
}

// At once, a byte at a time, or too many.
static int gives_bytes_on(void *what, void *buffer, size_t size, struct fin_more_on *more, fin_cont *cont, const void *state,
                          size_t state_size) {
    (void)more, (void)cont, (void)state, (void)state_size;
    *(char *)buffer = ++calls_on % 5 == 0 ? '\n' : 'x';
    return what ? (int)size + 1 : 1;
}

// ---- to be written to

static ssize_t takes(void *unused, const void *data, size_t size) {
    (void)unused, (void)data;
    memcpy(text, "123456789", 10);
    return (ssize_t)size;
}

static ssize_t takes_late(void *unused, const void *data, size_t size) {
    (void)unused, (void)data;
    int error = fin_event_await(&may_write, 1);
    written += error == 0;
    return error ? error : (ssize_t)size;
}

static ssize_t has_no_space(void *unused, const void *data, size_t size) {
    (void)unused, (void)data, (void)size;
    return -ENOSPC;
}

static int takes_nothing_on(void *unused, const void *data, size_t size, struct fin_more_on *more, fin_cont *cont,
                            const void *state, size_t state_size) {
    (void)unused, (void)data, (void)size;
    calls_on++;
    return fin_sleep_on((struct fin_on *)(void *)more, 10 * FIN_S, cont, state, state_size);
}

static int takes_byte_on(void *unused, const void *data, size_t size, struct fin_more_on *more, fin_cont *cont,
                         const void *state, size_t state_size) {
    (void)unused, (void)data, (void)size, (void)more, (void)cont, (void)state, (void)state_size;
    calls_on++;
    return 1;
}

static int flushes_it(void *unused) {
    (void)unused;
    flushes++;
    return 0;
}

static int flushes_oddly(void *unused) {
    (void)unused;
    return 5;
}

// ---- an AWE without a stack

static void hears(void *unused, int n) {
    (void)unused;
    told = n;
    fin_cont_end();
}

static void line_on(void *unused, int n) {
    (void)unused, (void)n;
    CHECK_EQ(fin_reader_line_on(&r, &at, &on, NULL, NULL, 0), -EINVAL);
    CHECK_EQ(fin_reader_line_on(&r, &at, &on, hears, space, FIN_CONT_STATE + 1), -E2BIG);
    CHECK_EQ(fin_reader_line_on(&r, &at, &on, hears, NULL, 0), 0);
}

static void flush_without(void *unused, int n) {
    (void)unused, (void)n;
    CHECK_EQ(fin_writer_flush_on(&w, &flush_on, NULL, NULL, 0), -EINVAL);
    CHECK_EQ(fin_writer_flush_on(&w, &flush_on, hears, space, FIN_CONT_STATE + 1), -E2BIG);
    CHECK_EQ(fin_writer_flush_on(&w, &flush_on, hears, NULL, 0), 0);
}

static FIN_BLOCKING int told_by(fin_cont *cont) {
    told = 1000;
    fin_timeout(FIN_MS) {
        CHECK(fin_async_cont(cont, NULL, 0) != NULL);
    }
    return told;
}

static void reads_from(const struct fin_stream_calls *c, void *stream) {
    calls = calls_on = 0;
    CHECK_EQ(fin_reader_init_from(&r, c, stream, space, sizeof space), 0);
}

static void writes_to(const struct fin_stream_calls *c) {
    calls = calls_on = flushes = 0;
    CHECK_EQ(fin_writer_init_to(&w, c, NULL, behind, sizeof behind), 0);
}

// ---- scenes

static FIN_BLOCKING void past_the_buffer(void) {
    static const struct fin_stream_calls line = {.read = gives_line}, liar = {.read = gives_too_much};
    size_t done = 7;
    reads_from(&line, NULL);
    CHECK_EQ(fin_reader_read(&r, bytes, 8), 2);
    CHECK(into == bytes && asked == 8);
    CHECK_EQ(fin_reader_read(&r, bytes, 100), 2);
    CHECK(into == bytes && asked == 100);
    CHECK_EQ(fin_reader_read(&r, bytes, 7), 2); // by way of the buffer
    CHECK(into == space && asked == 8);
    CHECK_EQ(fin_reader_read(&r, bytes, 1), 1);
    CHECK(into == space && asked == 8);
    CHECK_EQ(fin_reader_read(&r, bytes, 100), 1); // what there is
    CHECK_EQ(fin_reader_line(&r, &at), 1);
    CHECK(into == space && asked == 8); // all of the room, wherever the bytes lay
    reads_from(&liar, NULL);
    CHECK_EQ(fin_reader_read(&r, bytes, 16), -EIO);
    CHECK_EQ(fin_reader_read_all(&r, bytes, 16, &done), -EIO);
    CHECK_EQ(done, 0);
}

static FIN_BLOCKING void without_stack(void) {
    static const struct fin_stream_calls both = {.read = gives_nothing, .read_on = gives_nothing_on},
                                         at_once = {.read = gives_nothing, .read_on = gives_bytes_on},
                                         line = {.read = gives_line}, none = {.read = is_no_socket},
                                         pipes = {.read = is_no_socket, .read_on = is_pipe},
                                         never = {.write = takes, .write_on = takes_nothing_on},
                                         slow = {.write = takes, .write_on = takes_byte_on, .flush = flushes_it};
    reads_from(&both, NULL);
    CHECK(told_by(line_on) == -ECANCELED && calls == 0 && calls_on == 1);
    reads_from(&at_once, NULL);
    CHECK(told_by(line_on) == 4 && calls == 0 && calls_on == 5);
    reads_from(&at_once, &told);
    CHECK_EQ(told_by(line_on), -EIO);
    reads_from(&none, NULL);
    CHECK(told_by(line_on) == -ENOTSOCK && calls == 1); // which only of a descriptor means that it is a file
    int fd[2];
    CHECK_EQ(pipe(fd), 0);
    reads_from(&pipes, &fd[0]);
    CHECK(told_by(line_on) == -ENOTSOCK && calls_on == 1);
    close(fd[0]);
    close(fd[1]);
    reads_from(&line, NULL);
    CHECK(told_by(line_on) == 1 && calls == 1);
    fin_finish {
        fin_async { CHECK_EQ(fin_reader_line_on(&r, &at, &on, hears, NULL, 0), 0); };
    }
    CHECK(told == 1 && calls == 2);
    writes_to(&never);
    CHECK_EQ(fin_writer_printf(&w, "a"), 1);
    CHECK(told_by(flush_without) == -ECANCELED && calls_on == 1);
    writes_to(&slow);
    CHECK_EQ(fin_writer_printf(&w, "abc"), 3);
    CHECK(told_by(flush_without) == 0 && calls_on == 3 && flushes == 1);
    CHECK(told_by(flush_without) == 0 && calls_on == 3 && flushes == 2);
}

// Who is about to be told of a line has it until then.
static FIN_BLOCKING void about_to_be_told(void) {
    static const struct fin_stream_calls line = {.read = gives_line};
    reads_from(&line, NULL);
    CHECK_EQ(fin_reader_peek(&r, 1, &at), 2);
    fin_finish {
        char *other;
        fin_async { CHECK_EQ(fin_reader_line_on(&r, &at, &on, hears, NULL, 0), 0); };
        CHECK_EQ(fin_reader_line_nc(&r, &other), -EBUSY);
    }
    CHECK_EQ(told, 1);
    CHECK_EQ(strcmp(at, "a"), 0);
}

static FIN_BLOCKING void tied(void) {
    static const struct fin_stream_calls in = {.read = gives_nothing, .read_on = gives_nothing_on},
                                         flushed = {.write = takes, .flush = flushes_it},
                                         odd = {.write = takes, .flush = flushes_oddly}, late = {.write = takes_late},
                                         full = {.write = has_no_space};
    reads_from(&in, NULL);
    fin_reader_tie(&r, &w);
    writes_to(&flushed);
    CHECK(told_by(line_on) == -ECANCELED && flushes == 1); // though the writer holds nothing
    writes_to(&odd);
    CHECK_EQ(fin_writer_flush(&w), -EIO);
    CHECK_EQ(fin_reader_peek(&r, 3, &at), -EIO);
    CHECK_EQ(told_by(line_on), -EIO);
    writes_to(&full);
    CHECK_EQ(fin_writer_printf(&w, "a"), 1);
    calls_on = 0;
    CHECK(told_by(line_on) == -ENOSPC && calls_on == 0);

    // Who has its turn is cancelled, and the rest is the reader's to flush.
    fin_event_init(&may_write);
    writes_to(&late);
    CHECK_EQ(fin_writer_printf(&w, "a"), 1);
    fin_finish {
        fin_async {
            fin_timeout(5 * FIN_MS) {
                CHECK_EQ(fin_writer_flush(&w), -ECANCELED);
            }
        };
        CHECK(fin_async_cont(line_on, NULL, 0) != NULL);
        CHECK_EQ(fin_sleep(10 * FIN_MS), 0);
        fin_event_advance(&may_write, 1);
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        fin_cancel();
    }
    CHECK_EQ(written, 1);
}

// What ends while a flush waits ends that as well, which can be gone on with; but where the program has cancelled it, it
// is known that it was.
static FIN_BLOCKING void breaks_off_meanwhile(void) {
    static const struct fin_stream_calls in = {.read = breaks_off}, late = {.write = takes_late};
    static ssize_t results[] = {-ECONNRESET, 0};
    for (int i = 0; i < 4; i++) {
        fin_event_init(&may_write);
        written = 0;
        reads_from(&in, &results[i / 2]);
        writes_to(&late);
        fin_reader_tie(&r, &w);
        CHECK_EQ(fin_writer_printf(&w, "a"), 1);
        fin_timeout(10 * FIN_MS) {
            if (i % 2)
                fin_finish {
                    CHECK(fin_async_cont(line_on, NULL, 0) != NULL);
                }
            else
                told = (int)fin_reader_line(&r, &at);
        }
        CHECK_EQ(told, i < 2 ? -ECONNRESET : -ECANCELED);
        CHECK_EQ(fin_writer_error(&w), i < 2 ? 0 : -ECANCELED);
        CHECK_EQ(fin_writer_held(&w), 1);
        fin_event_advance(&may_write, 1);
        CHECK_EQ(fin_writer_flush(&w), 0);
        CHECK_EQ(fin_writer_held(&w), 0);
        CHECK_EQ(written, 1);
    }
}

static ssize_t gives_and_lets(void *unused, void *buffer, size_t size) {
    (void)unused, (void)size;
    fin_event_advance(&may_write, 1);
    memcpy(buffer, "a\n", 2);
    return 2;
}
static ssize_t fails_late(void *unused, const void *data, size_t size) {
    (void)unused, (void)data, (void)size;
    int error = fin_event_await(&may_write, 1);
    return error ? error : -EPIPE;
}

// What was read ends the reader's own flush, which had no turn, and forgives nobody else's error.
static FIN_BLOCKING void others_fail(void) {
    static const struct fin_stream_calls in = {.read = gives_and_lets}, fails = {.write = fails_late};
    fin_event_init(&may_write);
    reads_from(&in, NULL);
    writes_to(&fails);
    fin_reader_tie(&r, &w);
    CHECK_EQ(fin_writer_printf(&w, "a"), 1);
    fin_finish {
        fin_async { CHECK_EQ(fin_writer_flush(&w), -EPIPE); };
        CHECK_EQ(fin_reader_line(&r, &at), 1);
    }
    CHECK_EQ(fin_writer_error(&w), -EPIPE);
}

static FIN_BLOCKING void prints(void) {
    static const struct fin_stream_calls sink = {.write = takes};
    static char few[8];
    char expected[32];
    CHECK_EQ(fin_writer_init_to(&w, &sink, NULL, few, sizeof few), 0);
    CHECK_EQ(fin_writer_printf(&w, "12345"), 5);
    CHECK_EQ(fin_writer_printf(&w, "%s", text), -EMSGSIZE); // which became longer than the buffer while it waited
    CHECK_EQ(fin_writer_write(&w, "a", 1, NULL), 0);
    CHECK_EQ(fin_writer_flush(&w), 0);
    writes_to(&sink);
    errno = EINTR;
    snprintf(expected, sizeof expected, "%m");
    errno = EINTR;
    CHECK_EQ(fin_writer_printf(&w, "%m"), strlen(expected));
    CHECK_EQ(memcmp(behind, expected, strlen(expected)), 0);
}

int main(void) {
    past_the_buffer();
    without_stack();
    about_to_be_told();
    tied();
    breaks_off_meanwhile();
    others_fail();
    prints();
    return 0;
}
