// SPDX-License-Identifier: BSD-2-Clause
// Waits with a continuation raced against cancellation: what each was told is what happened. (race.h)
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>

#include <fin/on.h>
#include <fin/stream.h>

#include "race_streams.h"

enum { WAITS = 1 << 30 };

static struct fin_on on;
static struct fin_more_on more_on;
static struct fin_buffers_on buffers_on;
static struct fin_acceptor *acceptor;
static unsigned char piece[PIECE];
static void *got;
static int result;
static size_t much;
static uint64_t when;

static void ended(void *state, int n) {
    (void)state;
    result = n;
    fin_cont_end();
}

static void schedules(struct fin_awe *a, void *unused) {
    (void)unused;
    CHECK_EQ(fin_schedule(a), 0);
}

// Half of them are the second wait of their AWE, which has less to ask, or so it seems: the block may be cancelled by then.
#define WAIT(name, call)                                                                                                    \
    static void begin_##name(void *state, int unused) {                                                                     \
        (void)state, (void)unused;                                                                                          \
        result = WAITS;                                                                                                     \
        call;                                                                                                               \
        CHECK(false);                                                                                                       \
    }                                                                                                                       \
    static void do_##name(void) {                                                                                           \
        if (next_random(&seed) % 2)                                                                                         \
            begin_##name(NULL, 0);                                                                                          \
        CHECK_EQ(fin_block_on_then(begin_##name, NULL, 0, schedules, NULL), 0);                                             \
    }
#define ENDED ended, NULL, 0

static uint64_t soon(void) { return when = fin_now() + next_random(&seed) % 20000; }

WAIT(recv, fin_recv_on(&on, fd[0], piece, sizeof piece, 0, ENDED))
WAIT(read, fin_read_on(&on, fd[0], piece, sizeof piece, ENDED))
WAIT(buffers, fin_buffers_recv_on(pool, fd[0], &got, &buffers_on, ENDED))
WAIT(receiver, fin_receiver_next_on(receiver, &got, &on, ENDED))
WAIT(poll, fin_poll_on(&on, fd[0], POLLIN, ENDED))
WAIT(send, fin_send_on(&on, fd[1], out, some_data(), 0, ENDED))
WAIT(write, fin_write_on(&on, fd[1], out, some_data(), ENDED))
WAIT(send_at, fin_send_at_on(&on, soon(), fd[1], out, some_data(), 0, ENDED))
WAIT(accept, fin_accept_on(&on, listener, SOCK_CLOEXEC, ENDED))
WAIT(acceptor, fin_acceptor_next_on(acceptor, &on, ENDED))
WAIT(openat, fin_openat_on(&on, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC, 0, ENDED))
WAIT(sleep, fin_sleep_until_on(&on, soon(), ENDED))

static const struct iovec *two(void *p, size_t n) {
    static struct iovec v[2];
    v[0] = (struct iovec){p, n / 2};
    v[1] = (struct iovec){(char *)p + n / 2, n - n / 2};
    return v;
}
WAIT(readv, fin_readv_on(&on, fd[0], two(piece, sizeof piece), 2, ENDED))
WAIT(writev, fin_writev_on(&on, fd[1], two(out, some_data()), 2, ENDED))
WAIT(recv_all, fin_recv_all_on(&more_on, fd[0], piece, next_random(&seed) % 8 + 1, 0, &much, ENDED))
WAIT(send_all, fin_send_all_on(&more_on, fd[1], out, some_data(), 0, &much, ENDED))

static int runs;
static void run(void *unused) {
    (void)unused;
    __atomic_add_fetch(&runs, 1, __ATOMIC_RELAXED);
}
WAIT(offload, fin_offload_on(&on, run, NULL, ENDED))

// The finish block of the race has ended: so has the wait.

static void check_took(void) {
    took(piece, result);
    check_rest();
}

static void check_piece(void) {
    took(got, result);
    if (result > 0)
        CHECK_EQ(fin_buffers_put(pool, got), 0);
}

static void check_buffers(void) {
    check_piece();
    check_rest();
}

static void check_receiver(void) {
    check_piece();
    if (next_random(&seed) % 8 == 0)
        restart_receiver();
}

static void check_poll(void) {
    if (outcome(result)) {
        CHECK_EQ(result, POLLIN);
        CHECK(received < sent);
    }
    if (next_random(&seed) % 2)
        drain_from(fd[0]);
}

static void check_gave(void) {
    gave(result);
    check_rest();
}

static void check_sent_at(void) {
    CHECK(result == -ECANCELED || fin_now() >= when);
    check_gave();
}

// After a cancel, too, it says how much.
static void check_took_all(void) {
    outcome(result);
    check_received(piece, much);
    check_rest();
}

static void check_gave_all(void) {
    outcome(result);
    sent += (unsigned)much;
    check_rest();
}

static void check_ran(void) {
    CHECK_EQ(__atomic_exchange_n(&runs, 0, __ATOMIC_RELAXED), outcome(result));
}

static void check_accepted(void) {
    accepted_one(result);
    check_accept();
}

static void check_acceptor(void) {
    accepted_one(result);
    if (next_random(&seed) % 4)
        return;
    int n = fin_acceptor_close(acceptor);
    CHECK(n >= 0);
    accepted += n;
    check_accept();
    CHECK_EQ(fin_acceptor_open(&acceptor, listener, 0), 0);
}

static void check_opened(void) { // descriptors are counted in the end
    if (outcome(result))
        CHECK_EQ(close(result), 0);
}

static void check_slept(void) {
    CHECK(!outcome(result) || (result == 0 && fin_now() >= when));
}

static void open_acceptor(void) {
    open_listener();
    CHECK_EQ(fin_acceptor_open(&acceptor, listener, 0), 0);
}

static void close_acceptor(void) {
    CHECK(fin_acceptor_close(acceptor) >= 0);
    close_listener();
}

static const struct race races[] = {
    {"recv_on", open_stream, write_some, do_recv, check_took, close_two, 1},
    {"read_on of a pipe", open_pipe, write_some, do_read, check_took, close_two, 1},
    {"buffers_recv_on", open_pool, write_some, do_buffers, check_buffers, close_pool, 1},
    {"receiver_next_on", open_receiver, write_some, do_receiver, check_receiver, close_receiver, 1},
    {"poll_on", open_stream, write_some, do_poll, check_poll, close_two, 1},
    {"send_on", open_full_stream, take_some, do_send, check_gave, close_two, 1},
    {"write_on, to a pipe", open_full_pipe, take_some, do_write, check_gave, close_two, 1},
    {"send_at_on", open_full_stream, take_some, do_send_at, check_sent_at, close_two, 1},
    {"accept_on", open_listener, connect_one, do_accept, check_accepted, close_listener, 1},
    {"acceptor_next_on", open_acceptor, connect_one, do_acceptor, check_acceptor, close_acceptor, 1},
    {"openat_on", nothing, nothing, do_openat, check_opened, nothing, 1},
    {"readv_on", open_stream, write_some, do_readv, check_took, close_two, 1},
    {"writev_on, to a pipe", open_full_pipe, take_some, do_writev, check_gave, close_two, 1},
    {"recv_all_on", open_stream, write_some, do_recv_all, check_took_all, close_two, 1},
    {"send_all_on", open_full_stream, take_some, do_send_all, check_gave_all, close_two, 1},
    {"offload_on", nothing, nothing, do_offload, check_ran, nothing, 1},
    {"sleep_until_on", nothing, nothing, do_sleep, check_slept, nothing, 1},
};

int main(int argc, char **argv) {
    race_all(races, sizeof races / sizeof *races, argc > 1 ? argv[1] : NULL);
    return 0;
}
