// SPDX-License-Identifier: BSD-2-Clause
// What a writer gives to its stream, and when; what it says of what it took; and what is refused.
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wchar.h>

#include <fin.h>

#include "check.h"

// A stream that logs what is written to it, in brackets, at most `piece` bytes at a time; and its flushes.
struct log {
    size_t piece;
    int error, flush_error; // of the next calls
};

static ssize_t logs(void *log, const void *data, size_t size) {
    struct log *l = log;
    if (l->error)
        return l->error > 0 ? 0 : l->error;
    size = l->piece < size ? l->piece : size;
    LOG("[%.*s]", (int)size, (const char *)data);
    return (ssize_t)size;
}

static int logs_flush(void *log) {
    struct log *l = log;
    LOG("f");
    return l->flush_error;
}

static const struct fin_stream_calls to_log = {.write = logs}, with_flush = {.write = logs, .flush = logs_flush};
static char space[8];

static struct fin_writer writer_to(const struct fin_stream_calls *calls, struct log *l) {
    struct fin_writer w;
    check_log[0] = 0;
    CHECK_EQ(fin_writer_init_to(&w, calls, l, space, sizeof space), 0);
    return w;
}

static FIN_BLOCKING void gathers(void) {
    struct log l = {.piece = 100};
    struct fin_writer w = writer_to(&to_log, &l);
    size_t done = 9;
    CHECK_EQ(fin_writer_flush(&w), 0);
    CHECK_EQ(fin_writer_write(&w, "", 0, &done), 0);
    CHECK_EQ(done, 0);
    CHECK_EQ(fin_writer_write(&w, "abc", 3, &done), 0);
    CHECK_EQ(done, 3);
    CHECK_EQ(fin_writer_printf(&w, "%d", 12), 2);
    CHECK_LOG("");
    CHECK_EQ(fin_writer_flush(&w), 0);
    CHECK_LOG("[abc12]");
    CHECK_EQ(fin_writer_write(&w, "12345678", 8, NULL), 0); // past the buffer
    CHECK_LOG("[abc12][12345678]");
    CHECK_EQ(fin_writer_write(&w, "a", 1, NULL), 0);
    CHECK_EQ(fin_writer_write(&w, "bcdefghijklmnopqrs", 18, NULL), 0); // fills it, and the rest goes past it
    CHECK_LOG("[abc12][12345678][abcdefgh][ijklmnopqrs]");
    CHECK_EQ(fin_writer_write(&w, "1234567", 7, NULL), 0);
    CHECK_EQ(fin_writer_write(&w, "89", 2, NULL), 0);
    CHECK_LOG("[abc12][12345678][abcdefgh][ijklmnopqrs][12345678]");
    CHECK_EQ(fin_writer_flush_nc(&w), 0);
    CHECK_LOG("[abc12][12345678][abcdefgh][ijklmnopqrs][12345678][9]");
}

static FIN_BLOCKING void prints(void) {
    struct log l = {.piece = 3};
    struct fin_writer w = writer_to(&to_log, &l);
    CHECK_EQ(fin_writer_printf(&w, "%s", "1234567"), 7); // with its 0 that fills it
    CHECK_EQ(fin_writer_printf(&w, "%s", ""), 0);
    CHECK_LOG("");
    CHECK_EQ(fin_writer_printf(&w, "%c%c", 'a', 'b'), 2);
    CHECK_LOG("[123][456][7]");
    CHECK_EQ(fin_writer_printf_nc(&w, "%s", "12345678"), -EMSGSIZE);
    CHECK_EQ(fin_writer_printf(&w, "%100d", 1), -EMSGSIZE);
    CHECK_EQ(fin_writer_printf(&w, "%ls", (const wchar_t[]){0x20ac, 0}), -EILSEQ); // of another alphabet
    CHECK_LOG("[123][456][7]");
    CHECK_EQ(fin_writer_flush(&w), 0);
    CHECK_LOG("[123][456][7][ab]");
}

static FIN_BLOCKING void tries(void) {
    struct log l = {.piece = 3};
    struct fin_writer w = writer_to(&to_log, &l);
    CHECK_EQ(fin_writer_try_write(&w, "123456789", 9), -EMSGSIZE);
    CHECK_EQ(fin_writer_try_write(&w, "abcde", 5), 0);
    CHECK_EQ(fin_writer_try_write(&w, "fghi", 4), -EAGAIN);
    CHECK_EQ(fin_writer_try_write(&w, "fgh", 3), 0);
    CHECK_EQ(fin_writer_try_write(&w, "i", 1), -EAGAIN);
    CHECK_EQ(fin_writer_discard(&w), 8);
    CHECK_EQ(fin_writer_try_write(&w, "12345678", 8), 0);
    CHECK_EQ(fin_writer_flush(&w), 0);
    CHECK_EQ(fin_writer_discard(&w), 0);
    CHECK_LOG("[123][456][78]");
}

// What was not written stays, and goes on where it was.
static FIN_BLOCKING void fails(void) {
    struct log l = {.piece = 3};
    struct fin_writer w = writer_to(&with_flush, &l);
    size_t done;
    CHECK_EQ(fin_writer_write(&w, "abcde", 5, NULL), 0);
    l.error = -EPIPE;
    CHECK_EQ(fin_writer_flush(&w), -EPIPE);
    CHECK_EQ(fin_writer_write(&w, "fghij", 5, &done), -EPIPE);
    CHECK_EQ(done, 3);
    CHECK_EQ(fin_writer_printf(&w, "%s", "xyz"), -EPIPE);
    l.error = 1;
    CHECK_EQ(fin_writer_flush(&w), -EIO); // what takes nothing would be tried for ever
    l.error = 0;
    l.flush_error = -ENOSPC;
    CHECK_LOG("");
    CHECK_EQ(fin_writer_flush(&w), -ENOSPC);
    CHECK_LOG("[abc][def][gh]f");
    l.flush_error = 0;
    CHECK_EQ(fin_writer_flush(&w), 0);
    CHECK_LOG("[abc][def][gh]ff");
    l.error = -EPIPE;
    CHECK_EQ(fin_writer_write(&w, "12345678", 8, &done), -EPIPE);
    CHECK_EQ(done, 0);
    l.error = 1;
    CHECK_EQ(fin_writer_write(&w, "12345678", 8, &done), -EIO);
    CHECK_EQ(done, 0);
}

static ssize_t takes_too_much(void *unused, const void *data, size_t size) {
    (void)unused, (void)data;
    return (ssize_t)size + 1;
}

static FIN_BLOCKING void refused(void) {
    static const struct fin_stream_calls none = {0}, liar = {.write = takes_too_much};
    struct fin_writer w;
    size_t done;
    CHECK_EQ(fin_writer_init(&w, -1, space, sizeof space), -EINVAL);
    CHECK_EQ(fin_writer_init(&w, 1, NULL, sizeof space), -EINVAL);
    CHECK_EQ(fin_writer_init(&w, 1, space, 1), -EINVAL);
    CHECK_EQ(fin_writer_init(&w, 1, space, (size_t)INT_MAX + 1), -EINVAL);
    CHECK_EQ(fin_writer_init_to(&w, NULL, NULL, space, sizeof space), -EINVAL);
    CHECK_EQ(fin_writer_init_to(&w, &none, NULL, space, sizeof space), -EINVAL);
    CHECK_EQ(fin_writer_init_to(&w, &liar, NULL, space, sizeof space), 0);
    CHECK_EQ(fin_writer_write(&w, "123456789", 9, &done), -EIO);
    CHECK_EQ(done, 0);
    CHECK_EQ(fin_writer_write(&w, "123", 3, &done), 0);
    CHECK_EQ(fin_writer_flush(&w), -EIO);
    CHECK_EQ(fin_writer_init(&w, 1000, space, sizeof space), 0);
    CHECK_EQ(fin_writer_printf(&w, "a"), 1);
    CHECK_EQ(fin_writer_flush(&w), -EBADF);
}

// In a cancelled block nothing is taken; of what waits for the peer as much as its result says.
static FIN_BLOCKING void cancelled(void) {
    static char many[1 << 20];
    static int fd[2];
    fin_shared int error = 0;
    fin_shared struct fin_writer w;
    fin_shared size_t done = 1;
    size_t got = 0;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    CHECK_EQ(fin_writer_init(&w, fd[0], space, sizeof space), 0);
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_writer_write(&w, "a", 1, &done), -ECANCELED);
        CHECK_EQ(done, 0);
        CHECK_EQ(fin_writer_printf(&w, "a"), -ECANCELED);
        CHECK_EQ(fin_writer_flush(&w), -ECANCELED);
        CHECK_EQ(fin_writer_printf_nc(&w, "ab"), 2);
        CHECK_EQ(fin_writer_write_nc(&w, "cd", 2, NULL), 0);
        CHECK_EQ(fin_writer_flush_nc(&w), 0);
    }
    for (size_t i = 0; i < sizeof many; i++)
        many[i] = (char)(i % 251);
    fin_finish {
        fin_async { error = fin_writer_write(&w, many, sizeof many, &done); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_writer_try_write(&w, "a", 1), -EAGAIN);
        CHECK_EQ(fin_writer_discard(&w), -EBUSY);
        fin_cancel();
    }
    CHECK_EQ(error, -ECANCELED);
    CHECK(done > 0 && done < sizeof many);
    fin_finish {
        fin_async {
            CHECK_EQ(fin_writer_flush(&w), 0);
            CHECK_EQ(shutdown(fd[0], SHUT_WR), 0);
        };
        char buffer[4096];
        ssize_t n;
        CHECK_EQ(fin_recv_all(fd[1], buffer, 4, 0, NULL), 0);
        CHECK_EQ(memcmp(buffer, "abcd", 4), 0);
        while ((n = fin_recv(fd[1], buffer, sizeof buffer, 0)) > 0) {
            CHECK_EQ(memcmp(buffer, many + got, (size_t)n), 0);
            got += (size_t)n;
        }
    }
    CHECK_EQ(got, done);
    close(fd[1]);
    CHECK_EQ(fin_writer_printf(&w, "a"), 1);
    CHECK_EQ(fin_writer_flush(&w), -EPIPE); // and no signal
    close(fd[0]);
}

static struct fin_writer_on on;
static size_t took;
static int result;

static void told(void *unused, int r) {
    (void)unused;
    result = r;
    fin_cont_end();
}

static void writes_without_stack(void *w, int unused) {
    (void)unused;
    fin_writer_write_on(*(struct fin_writer **)w, "123456789", 9, &took, &on, told, NULL, 0);
    CHECK(false);
}

static ssize_t takes_three(void *n, const void *data, size_t size) {
    (void)data;
    return ++*(int *)n > 2 ? -EIO : size < 3 ? (ssize_t)size : 3;
}

// The same with a continuation: how much was taken is told whatever else is.
static FIN_BLOCKING void without_stack(void) {
    static const struct fin_stream_calls liar = {.write = takes_too_much}, threes = {.write = takes_three};
    static struct fin_writer w, *p = &w;
    int n = 0;
    took = 1;
    CHECK_EQ(fin_writer_init_to(&w, &liar, NULL, space, sizeof space), 0);
    CHECK_EQ(fin_writer_write_on(&w, "1", 1, &took, &on, told, NULL, 0), -EINVAL); // not in an AWE that may do so
    fin_finish {
        fin_cancel();
        took = 1;
        CHECK(fin_async_cont(writes_without_stack, &p, sizeof p) != NULL);
    }
    CHECK(result == -ECANCELED && took == 0);
    fin_finish {
        CHECK(fin_async_cont(writes_without_stack, &p, sizeof p) != NULL);
    }
    CHECK(result == -EIO && took == 0);
    CHECK_EQ(fin_writer_init_to(&w, &threes, &n, space, sizeof space), 0);
    fin_finish {
        CHECK(fin_async_cont(writes_without_stack, &p, sizeof p) != NULL);
    }
    CHECK(result == 0 && took == 9 && n == 1); // past the buffer, and what is left into it
    fin_finish {
        CHECK(fin_async_cont(writes_without_stack, &p, sizeof p) != NULL);
    }
    CHECK(result == -EIO && took == 2 && n == 3);
}

int main(void) {
    gathers();
    prints();
    tries();
    fails();
    refused();
    cancelled();
    without_stack();
    return 0;
}
