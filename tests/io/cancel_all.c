// SPDX-License-Identifier: BSD-2-Clause
// Each operation that moves bytes raced against cancellation, and what it said compared with what happened. (race.h)
// cancel_whole.c has datagrams, connections and events, cancel_files.c files and their names, cancel_on.c waits with a
// continuation.
#define _GNU_SOURCE
#include <fcntl.h>
#include <fin/fixed.h>
#include <fin/linked.h>
#include <fin/stream.h>
#include <poll.h>
#include <sys/uio.h>

#include "race_streams.h"

static void do_read(void) {
    char p[PIECE];
    took(p, fin_read(fd[0], p, sizeof p));
}

static void do_recv(void) {
    char p[PIECE];
    took(p, fin_recv(fd[0], p, sizeof p, 0));
}

// The kernel has part of it when the cancel comes.
static void do_recv_whole(void) {
    char p[PIECE];
    took(p, fin_recv(fd[0], p, sizeof p, MSG_WAITALL));
}

static void do_recvmsg_whole(void) {
    char p[PIECE];
    struct iovec v[2] = {{p, 3}, {p + 3, PIECE - 3}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
    took(p, fin_recvmsg(fd[0], &m, MSG_WAITALL));
}

static void do_recv_whole_linked(void) {
    char p[2 * PIECE];
    struct fin_step s[2];
    for (int i = 0; i < 2; i++)
        s[i] = fin_step_recv(fd[0], p + i * PIECE, PIECE, MSG_WAITALL);
    fin_linked(s, 2);
    CHECK(s[0].result == PIECE || s[1].result == -ECANCELED);
    ssize_t sum = (s[0].result > 0 ? s[0].result : 0) + (s[1].result > 0 ? s[1].result : 0);
    took(p, sum ? sum : -ECANCELED);
}

static void do_readv(void) {
    char p[PIECE];
    struct iovec v[2] = {{p, 5}, {p + 5, PIECE - 5}};
    took(p, fin_readv(fd[0], v, 2));
}

static void do_recvmsg(void) {
    char p[PIECE];
    struct iovec v[2] = {{p, 3}, {p + 3, PIECE - 3}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
    took(p, fin_recvmsg(fd[0], &m, 0));
}

static void do_recv_in_time(void) {
    char p[PIECE];
    fin_shared ssize_t n = 0;
    fin_timeout(next_random(&seed) % 20000 + 1) {
        n = fin_recv(fd[0], p, sizeof p, 0);
    }
    took(p, n);
}

static void do_recv_registered(void) {
    char p[PIECE];
    int file = fin_file_register(fd[0]);
    CHECK(file > 0);
    took(p, fin_recv(file, p, sizeof p, 0));
    CHECK_EQ(fin_file_unregister(file), 0);
}

static void do_recv_linked(void) {
    char p[3];
    struct fin_step s[3];
    for (int i = 0; i < 3; i++)
        s[i] = fin_step_recv(fd[0], p + i, 1, 0);
    int n = fin_linked(s, 3);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(s[i].result, i < n ? 1 : -ECANCELED);
    if (outcome(n > 0 ? n : -ECANCELED))
        check_received(p, (size_t)n);
}

static void took_all(int r, char p[5], size_t n) {
    CHECK_EQ(r, outcome(r) ? 0 : -ECANCELED);
    CHECK(r != 0 || n == 5);
    check_received(p, n);
}

static void do_recv_all(void) {
    char p[5];
    size_t n = 0;
    int r = fin_recv_all(fd[0], p, sizeof p, 0, &n);
    took_all(r, p, n);
}

static void do_read_all(void) {
    char p[5];
    size_t n = 0;
    int r = fin_read_all(fd[0], p, sizeof p, &n);
    took_all(r, p, n);
}

static void give_back(void *piece, ssize_t n) {
    took(piece, n);
    if (n > 0)
        CHECK_EQ(fin_buffers_put(pool, piece), 0);
}

static void do_buffers(void) {
    void *piece;
    ssize_t n = fin_buffers_recv(pool, fd[0], &piece, 0);
    give_back(piece, n);
}

static void do_receiver(void) {
    void *piece;
    ssize_t n = fin_receiver_next(receiver, &piece);
    give_back(piece, n);
}

static void check_receiver(void) {
    if (next_random(&seed) % 8 == 0)
        restart_receiver();
}

static void do_write(void) { gave(fin_write(fd[1], out, some_data())); }
static void do_send(void) { gave(fin_send(fd[1], out, some_data(), 0)); }
static void do_send_whole(void) { gave(fin_send(fd[1], out, some_data(), MSG_WAITALL)); }
static void do_send_zc(void) { gave(fin_send_zc(fd[1], out, some_data(), 0)); }

static void do_writev(void) {
    size_t n = some_data();
    struct iovec v[2] = {{out, n / 2}, {out + n / 2, n - n / 2}};
    gave(fin_writev(fd[1], v, 2));
}

static void do_sendmsg(void) {
    size_t n = some_data();
    struct iovec v[2] = {{out, n / 2}, {out + n / 2, n - n / 2}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
    gave(fin_sendmsg(fd[1], &m, 0));
}

static void do_sendmsg_whole(void) {
    struct iovec v = {out, some_data()};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    gave(fin_sendmsg(fd[1], &m, MSG_WAITALL));
}

static void do_sendmsg_zc(void) {
    struct iovec v = {out, some_data()};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    gave(fin_sendmsg_zc(fd[1], &m, 0));
}

static void do_send_all(void) {
    size_t n = 0, size = some_data();
    int r = fin_send_all(fd[1], out, size, 0, &n);
    CHECK(!outcome(r) || n == size);
    sent += (unsigned)n;
}

static void do_write_all(void) {
    size_t n = 0, size = some_data();
    int r = fin_write_all(fd[1], out, size, &n);
    CHECK(!outcome(r) || n == size);
    sent += (unsigned)n;
}

static void do_send_linked(void) {
    size_t n = some_data(), half = n / 2 + 1;
    struct fin_step s[2] = {fin_step_send(fd[1], out, half, 0), fin_step_send(fd[1], out + half, n - n / 2, 0)};
    number_bytes(out, n + 1, sent);
    fin_linked(s, 2);
    CHECK(s[0].result == (ssize_t)half || s[1].result == -ECANCELED);
    ssize_t sum = (s[0].result > 0 ? s[0].result : 0) + (s[1].result > 0 ? s[1].result : 0);
    gave(sum ? sum : -ECANCELED);
}

// From one pipe to another: fd[1] -> fd[0], fd[3] -> fd[2]

static void open_pipes(void) {
    open_pipe();
    CHECK_EQ(pipe(fd + 2), 0);
}

static unsigned moved;

static void do_splice(void) {
    ssize_t n = fin_splice(fd[0], NULL, fd[3], NULL, PIECE, 0);
    if (outcome(n)) {
        CHECK(n > 0);
        moved += (unsigned)n;
    }
}

// A copy of what is there, which another reads.
static void do_tee(void) {
    char p[PIECE];
    ssize_t n = fin_tee(fd[0], fd[3], PIECE, 0);
    if (outcome(n)) {
        CHECK(n > 0);
        CHECK_EQ(read(fd[2], p, sizeof p), n);
        check_numbers(p, (size_t)n, received);
    }
    CHECK_EQ(poll(&(struct pollfd){.fd = fd[2], .events = POLLIN}, 1, 0), 0);
    if (next_random(&seed) % 2)
        drain_from(fd[0]);
}

static void check_splice(void) {
    drain_from(fd[2]);
    CHECK_EQ(received, moved);
}

static void close_pipes(void) {
    drain_from(fd[0]);
    CHECK_EQ(received, sent);
    moved = 0;
    close_two();
    close(fd[2]);
    close(fd[3]);
}

static const struct race races[] = {
    {"read", open_stream, write_some, do_read, check_rest, close_two, 1},
    {"read of a pipe", open_pipe, write_some, do_read, check_rest, close_two, 1},
    {"recv", open_stream, write_some, do_recv, check_rest, close_two, 1},
    {"recv of TCP", open_tcp, write_some, do_recv, nothing, close_two, 1},
    {"recv, all", open_stream, write_some, do_recv_whole, check_rest, close_two, 1},
    {"recvmsg, all", open_stream, write_some, do_recvmsg_whole, check_rest, close_two, 1},
    {"linked receives, all", open_stream, write_some, do_recv_whole_linked, check_rest, close_two, 1},
    {"readv", open_stream, write_some, do_readv, check_rest, close_two, 1},
    {"recvmsg", open_stream, write_some, do_recvmsg, check_rest, close_two, 1},
    {"recv_all", open_stream, write_some, do_recv_all, check_rest, close_two, 1},
    {"read_all", open_pipe, write_some, do_read_all, check_rest, close_two, 1},
    {"timeout", open_stream, write_some, do_recv_in_time, check_rest, close_two, 1},
    {"registered file", open_stream, write_some, do_recv_registered, check_rest, close_two, 1},
    {"linked receives", open_stream, write_some, do_recv_linked, check_rest, close_two, 1},
    {"buffers", open_pool, write_some, do_buffers, check_rest, close_pool, 1},
    {"receiver", open_receiver, write_some, do_receiver, check_receiver, close_receiver, 1},
    {"write", open_full_stream, take_some, do_write, check_rest, close_two, 1},
    {"write to a pipe", open_full_pipe, take_some, do_write, check_rest, close_two, 1},
    {"send", open_full_stream, take_some, do_send, check_rest, close_two, 1},
    {"send, all", open_full_stream, take_some, do_send_whole, check_rest, close_two, 1},
    {"sendmsg, all", open_full_stream, take_some, do_sendmsg_whole, check_rest, close_two, 1},
    // A buffer that was sent from is free when the peer has acknowledged, which takes it 40 ms at times.
    {"send, zero-copy", open_tcp, take_some, do_send_zc, nothing, close_two, 16},
    {"sendmsg, zero-copy", open_tcp, take_some, do_sendmsg_zc, nothing, close_two, 16},
    {"writev", open_full_stream, take_some, do_writev, check_rest, close_two, 1},
    {"sendmsg", open_full_stream, take_some, do_sendmsg, check_rest, close_two, 1},
    {"send_all", open_full_stream, take_some, do_send_all, check_rest, close_two, 1},
    {"write_all", open_full_pipe, take_some, do_write_all, check_rest, close_two, 1},
    {"linked sends", open_full_stream, take_some, do_send_linked, check_rest, close_two, 1},
    {"splice", open_pipes, write_some, do_splice, check_splice, close_pipes, 1},
    {"tee", open_pipes, write_some, do_tee, nothing, close_pipes, 1},
};

int main(int argc, char **argv) {
    race_all(races, sizeof races / sizeof *races, argc > 1 ? argv[1] : NULL);
    return 0;
}
