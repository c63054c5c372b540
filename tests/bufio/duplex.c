// SPDX-License-Identifier: BSD-2-Clause
// Both ends write much, by AWEs that do nothing else, while others read, to whose readers the writers are tied: neither end
// waits for the other to read before it reads itself. At the end of what comes the rest is flushed nevertheless.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

enum { LINES = 20000, SPACE = 512 };

static struct end {
    int fd;
    char before[SPACE], behind[SPACE], *line;
    struct fin_reader in;
    struct fin_writer out;
    struct fin_reader_on on;
    unsigned notices; // that have come
} ends[2];

static FIN_BLOCKING void writes_much(void *end) {
    struct end *e = end;
    for (unsigned i = 0; i < LINES; i++)
        CHECK(fin_writer_printf(&e->out, "notice %u\n", i) > 0);
    CHECK_EQ(fin_writer_flush(&e->out), 0);
}

// Whether more is to come.
static bool handle(struct end *e) {
    CHECK_EQ(atoi(e->line + strlen("notice ")), e->notices);
    return ++e->notices < LINES;
}

static FIN_BLOCKING void reads(void *end) {
    struct end *e = end;
    do
        CHECK(fin_reader_line(&e->in, &e->line) > 0);
    while (handle(e));
}

static void reads_on(void *state, int n) {
    struct end *e = *(struct end **)state;
    CHECK(n > 0);
    if (!handle(e))
        fin_cont_end();
    CHECK_EQ(fin_reader_line_on(&e->in, &e->line, &e->on, reads_on, &e, sizeof e), 0);
}
static void begins(void *state, int unused) {
    struct end *e = *(struct end **)state;
    (void)unused;
    CHECK_EQ(fin_reader_line_on(&e->in, &e->line, &e->on, reads_on, &e, sizeof e), 0);
}

static void make(void) {
    int fd[2], few = 4096;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    for (int i = 0; i < 2; i++) {
        struct end *e = &ends[i];
        CHECK_EQ(setsockopt(fd[i], SOL_SOCKET, SO_SNDBUF, &few, sizeof few), 0);
        e->fd = fd[i];
        e->notices = 0;
        CHECK_EQ(fin_reader_init(&e->in, fd[i], e->before, SPACE), 0);
        CHECK_EQ(fin_writer_init(&e->out, fd[i], e->behind, SPACE), 0);
        fin_reader_tie(&e->in, &e->out);
    }
}

static void close_both(void) {
    close(ends[0].fd);
    close(ends[1].fd);
}

static FIN_BLOCKING void both_write(bool without_stack) {
    make();
    fin_finish {
        for (int i = 0; i < 2; i++) {
            struct end *e = &ends[i];
            fin_async_call(writes_much, e);
            if (without_stack)
                CHECK(fin_async_cont(begins, &e, sizeof e) != NULL);
            else
                fin_async_call(reads, e);
        }
    }
    close_both();
}

// What was answered last is more than the socket has room for, and the peer says that this was all before it reads.
static FIN_BLOCKING void end_comes_first(void) {
    static char much[64 * SPACE];
    static struct fin_writer out;
    static char room[64 * SPACE];
    static ssize_t n;
    struct end *e = &ends[0];
    make();
    CHECK_EQ(fin_writer_init(&out, e->fd, room, sizeof room), 0);
    fin_reader_tie(&e->in, &out);
    CHECK_EQ(fin_writer_write(&out, much, sizeof much - 1, NULL), 0);
    CHECK_EQ(send(ends[1].fd, "line\n", 5, 0), 5);
    CHECK_EQ(shutdown(ends[1].fd, SHUT_WR), 0);
    fin_finish {
        fin_async {
            CHECK_EQ(fin_reader_line(&ends[0].in, &ends[0].line), 4); // though the flush waits
            n = fin_reader_line(&ends[0].in, &ends[0].line);
            CHECK_EQ(shutdown(ends[0].fd, SHUT_WR), 0);
        };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(n, 0);
        CHECK_EQ(fin_recv_all(ends[1].fd, much, sizeof much, 0, NULL), -ENODATA);
    }
    CHECK_EQ(n, -ENODATA);
    close_both();
}

// Of a flush that fails while it is read the reader hears; and of the end that it saw meanwhile afterwards.
static ssize_t fails_late(void *error, const void *data, size_t size) {
    (void)data, (void)size;
    int cancelled = fin_sleep(FIN_MS);
    return cancelled ? cancelled : *(int *)error;
}

static FIN_BLOCKING void fails(bool at_end) {
    static const struct fin_stream_calls calls = {.write = fails_late};
    static int error = -ENOSPC;
    struct end *e = &ends[0];
    make();
    CHECK_EQ(fin_writer_init_to(&e->out, &calls, &error, e->behind, SPACE), 0);
    CHECK_EQ(fin_writer_printf(&e->out, "lost"), 4);
    CHECK_EQ(at_end ? shutdown(ends[1].fd, SHUT_WR) : 0, 0);
    CHECK_EQ(fin_reader_line(&e->in, &e->line), -ENOSPC);
    fin_timeout(FIN_MS / 2) {
        CHECK_EQ(fin_reader_line(&e->in, &e->line), -ECANCELED);
    }
    fin_reader_tie(&e->in, NULL);
    CHECK_EQ(shutdown(ends[1].fd, SHUT_WR), 0);
    CHECK_EQ(fin_reader_line(&e->in, &e->line), -ENODATA);
    close_both();
}

static unsigned stacks(void) {
    struct fin_stats s;
    fin_stats(&s);
    return (unsigned)s.stacks_used;
}

static void ends_on(void *unused, int n) {
    (void)unused;
    CHECK_EQ(n, -ENODATA);
    fin_cont_end();
}
static void waits_on(void *unused, int n) {
    (void)unused, (void)n;
    CHECK_EQ(fin_reader_line_on(&ends[0].in, &ends[0].line, &ends[0].on, ends_on, NULL, 0), 0);
}

// Who reads without a stack has one only as long as the flush waits.
static FIN_BLOCKING void has_no_stack(void) {
    static char much[64 * SPACE], room[64 * SPACE];
    static struct fin_writer out;
    make();
    CHECK_EQ(fin_writer_init(&out, ends[0].fd, room, sizeof room), 0);
    fin_reader_tie(&ends[0].in, &out);
    fin_finish {
        CHECK_EQ(fin_writer_printf(&out, "a"), 1);
        CHECK(fin_async_cont(waits_on, NULL, 0) != NULL);
        CHECK_EQ(fin_recv_all(ends[1].fd, much, 1, 0, NULL), 0);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(stacks(), 1);
        CHECK_EQ(shutdown(ends[1].fd, SHUT_WR), 0);
    }
    close_both();
    make();
    CHECK_EQ(fin_writer_init(&out, ends[0].fd, room, sizeof room), 0);
    fin_reader_tie(&ends[0].in, &out);
    fin_finish {
        CHECK_EQ(fin_writer_write(&out, much, sizeof much - 1, NULL), 0);
        CHECK(fin_async_cont(waits_on, NULL, 0) != NULL);
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        CHECK(stacks() > 1);
        CHECK_EQ(fin_recv_all(ends[1].fd, much, sizeof much - 1, 0, NULL), 0);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(stacks(), 1);
        CHECK_EQ(shutdown(ends[1].fd, SHUT_WR), 0);
    }
    close_both();
}

int main(void) {
    has_no_stack();
    both_write(false);
    both_write(true);
    end_comes_first();
    fails(false);
    fails(true);
    return 0;
}
