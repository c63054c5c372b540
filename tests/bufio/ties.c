// SPDX-License-Identifier: BSD-2-Clause
// A reader flushes the writer that is tied to it before it waits, and only then: answers to what has come together leave
// together, and none is kept back, however the reader waits.
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fin.h>

#include "answers.h"

enum { CALLS = 300 };

static int fd[2];
static unsigned sends; // of the server
static char before[256], behind[2048], space[1024];
static struct fin_reader_on on;

static ssize_t reads(void *unused, void *buffer, size_t size) {
    (void)unused;
    return fin_recv(fd[0], buffer, size, 0);
}
static ssize_t writes(void *unused, const void *data, size_t size) {
    (void)unused;
    sends++;
    return fin_send(fd[0], data, size, 0);
}
static int reads_on(void *unused, void *buffer, size_t bytes, struct fin_more_on *more, fin_cont *cont, const void *state,
                    size_t size) {
    (void)unused;
    return fin_recv_on((struct fin_on *)(void *)more, fd[0], buffer, bytes, 0, cont, state, size);
}
static int writes_on(void *unused, const void *data, size_t bytes, struct fin_more_on *more, fin_cont *cont,
                     const void *state, size_t size) {
    (void)unused;
    sends++;
    return fin_send_on((struct fin_on *)(void *)more, fd[0], data, bytes, 0, cont, state, size);
}
static int flushes(void *unused) {
    (void)unused;
    return 0;
}

static const struct fin_stream_calls kinds[] = {
    {.read = reads, .write = writes},
    {.read = reads, .write = writes, .read_on = reads_on, .write_on = writes_on},
    {.read = reads, .write = writes, .read_on = reads_on, .flush = flushes},
    {.read = reads, .write = writes, .write_on = writes_on, .flush = flushes},
};

static void answers_on(void *state, int n) {
    (void)state;
    if (n == -ENODATA)
        fin_cont_end();
    CHECK(n >= 0);
    CHECK_EQ(fin_writer_printf(&out, "%s!\n", line), n + 2);
    CHECK_EQ(fin_reader_line_on(&in, &line, &on, answers_on, NULL, 0), 0);
}
static void begins(void *unused, int result) {
    (void)unused;
    CHECK_EQ(result, 0);
    CHECK_EQ(fin_reader_line_on(&in, &line, &on, answers_on, NULL, 0), 0);
}

static FIN_BLOCKING void asks(void) {
    static char many[CALLS * 2];
    struct fin_reader r;
    char *answer;
    CHECK_EQ(fin_reader_init(&r, fd[1], space, sizeof space), 0);
    for (unsigned i = 0; i < 3; i++) { // one at a time
        CHECK_EQ(fin_send_all(fd[1], "a\n", 2, 0, NULL), 0);
        CHECK_EQ(fin_reader_line(&r, &answer), 2);
        CHECK_EQ(strcmp(answer, "a!"), 0);
    }
    CHECK_EQ(sends, 3);
    for (unsigned i = 0; i < sizeof many; i++)
        many[i] = "b\n"[i % 2];
    CHECK_EQ(fin_send_all(fd[1], many, sizeof many, 0, NULL), 0); // in pieces of 255 bytes
    for (unsigned i = 0; i < CALLS; i++) {
        CHECK_EQ(fin_reader_line(&r, &answer), 2);
        CHECK_EQ(strcmp(answer, "b!"), 0);
    }
    CHECK_EQ(sends, 3 + 3);
    CHECK_EQ(fin_send_all(fd[1], "half", 4, 0, NULL), 0);
    CHECK_EQ(shutdown(fd[1], SHUT_WR), 0);
}

static void make(const struct fin_stream_calls *calls) {
    sends = 0;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    CHECK_EQ(fin_reader_init_from(&in, calls, NULL, before, sizeof before), 0);
    CHECK_EQ(fin_writer_init_to(&out, calls, NULL, behind, sizeof behind), 0);
    fin_reader_tie(&in, &out);
}

static FIN_BLOCKING void ends(void) {
    char rest[8];
    CHECK_EQ(fin_recv_all(fd[1], rest, 6, 0, NULL), 0);
    CHECK_EQ(memcmp(rest, "half!\n", 6), 0);
    close(fd[0]);
    close(fd[1]);
}

static int way;

static FIN_BLOCKING void reads_in_a_way(void *unused) {
    static char many[1024];
    (void)unused;
    switch (way) {
    case 0: CHECK_EQ(fin_reader_peek(&in, 1, &line), 1); break;
    case 1: CHECK_EQ(fin_reader_until(&in, 'z', &line), 1); break;
    case 2: CHECK_EQ(fin_reader_read(&in, many, 1), 1); break;
    case 3: CHECK_EQ(fin_reader_read(&in, many, sizeof many), 1); break; // past the buffer
    case 4: CHECK_EQ(fin_reader_read_all(&in, many, 1, NULL), 0); break;
    default: CHECK_EQ(fin_reader_line(&in, &line), -ENODATA);
    }
}

// Each way of reading flushes before it waits; what is there is read without.
static FIN_BLOCKING void each_way(void) {
    char c[16];
    for (way = 0; way < 5; way++) {
        make(&kinds[0]);
        CHECK_EQ(fin_send_all(fd[1], "abcdefghij", 10, 0, NULL), 0);
        CHECK_EQ(fin_reader_peek(&in, 1, &line), 10);
        CHECK_EQ(fin_writer_printf(&out, "x"), 1);
        CHECK_EQ(fin_reader_read(&in, c, 1), 1);
        CHECK_EQ(fin_reader_read_all(&in, c, 9, NULL), 0);
        CHECK_EQ(fin_reader_try_line(&in, &line), -EAGAIN);
        CHECK_EQ(sends, 0);
        fin_finish {
            fin_async_call(reads_in_a_way, NULL);
            CHECK_EQ(fin_recv_all(fd[1], c, 1, 0, NULL), 0);
            CHECK_EQ(fin_send_all(fd[1], "z", 1, 0, NULL), 0);
        }
        close(fd[0]);
        close(fd[1]);
    }
    make(&kinds[0]);
    CHECK_EQ(fin_send_all(fd[1], "a\n", 2, 0, NULL), 0);
    close(fd[1]);
    CHECK_EQ(fin_writer_printf(&out, "x"), 1);
    ssize_t n = fin_reader_line(&in, &line); // which may come before it is known that the flush fails
    CHECK(n == 1 || n == -EPIPE);
    CHECK_EQ(fin_reader_line(&in, &line), -EPIPE);
    fin_reader_tie(&in, NULL);
    CHECK(n == 1 || fin_reader_line(&in, &line) == 1);
    reads_in_a_way(NULL);
    close(fd[0]);
}

int main(void) {
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        make(&kinds[i]);
        fin_finish {
            fin_async_call(answers, NULL);
            asks();
        }
        CHECK_EQ(fin_writer_flush(&out), 0);
        ends();
        make(&kinds[i]);
        fin_finish {
            CHECK(fin_async_cont(begins, NULL, 0) != NULL);
            asks();
        }
        ends();
    }
    each_way();
    return 0;
}
