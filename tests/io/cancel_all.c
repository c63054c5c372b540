// SPDX-License-Identifier: BSD-2-Clause
// Each operation raced against cancellation, and what it said compared with what happened: bytes, connections, descriptors.
// FIN_RACES=1000000 in the environment asks for so many races in all.
#define _GNU_SOURCE
#include <fcntl.h>
#include <fin/fixed.h>
#include <fin/linked.h>
#include <fin/offload.h>
#include <fin/stream.h>
#include <poll.h>
#include <sys/uio.h>

#include "net.h"

enum { PIECE = 64 };

struct race {
    const char *name;
    void (*open)(void);
    void (*other)(void); // what the operation waits for, at a random moment
    void (*operation)(void);
    void (*check)(void); // after each race
    void (*close)(void);
};

static unsigned seed = 11;
static int done, cancelled;
static int fd[4];
static unsigned sent, received; // bytes so far

static bool outcome(ssize_t n) {
    ++*(n == -ECANCELED ? &cancelled : &done);
    return n != -ECANCELED;
}

static void pause_a_little(unsigned most) {
    for (unsigned n = next_random(&seed) % most; n; n--)
        fin_yield();
    unsigned n = next_random(&seed) % 32;
    if (n < 9)
        CHECK_EQ(fin_sleep_nc(n ? 1 : 30000), 0);
}

static void check_received(const void *p, size_t n) {
    check_numbers(p, n, received);
    received += (unsigned)n;
}

// Streams: fd[1] -> fd[0]

static void open_stream(void) {
    stream_pair(fd);
    sent = received = 0;
}

static void open_pipe(void) {
    CHECK_EQ(pipe(fd), 0);
    sent = received = 0;
}

static void open_tcp(void) {
    struct sockaddr_in address;
    int listener = tcp_listen(&address, 1);
    fd[1] = tcp_connect(&address);
    fd[0] = accept(listener, NULL, NULL);
    close(listener);
    sent = received = 0;
}

static void close_two(void) {
    close(fd[0]);
    close(fd[1]);
}

static void write_some(void) {
    unsigned char p[16];
    size_t size = next_random(&seed) % (sizeof p + 1);
    number_bytes(p, size, sent);
    CHECK(size == 0 || write(fd[1], p, size) == (ssize_t)size);
    sent += (unsigned)size;
}

static void took(const void *p, ssize_t n) {
    if (outcome(n)) {
        CHECK(n > 0);
        check_received(p, (size_t)n);
    }
}

static void drain_from(int from) {
    unsigned char p[8192];
    while (poll(&(struct pollfd){.fd = from, .events = POLLIN}, 1, 0) == 1) {
        ssize_t n = read(from, p, sizeof p);
        CHECK(n > 0);
        check_received(p, (size_t)n);
    }
}

// From time to time: all that was sent is there.
static void check_rest(void) {
    if (next_random(&seed) % 8 == 0) {
        drain_from(fd[0]);
        CHECK_EQ(received, sent);
    }
}

static void do_read(void) {
    char p[PIECE];
    took(p, fin_read(fd[0], p, sizeof p));
}

static void do_recv(void) {
    char p[PIECE];
    took(p, fin_recv(fd[0], p, sizeof p, 0));
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

static struct fin_buffers *pool;
static struct fin_receiver *receiver;

static void open_pool(void) {
    open_stream();
    CHECK_EQ(fin_buffers_open(&pool, 2, PIECE), 0);
}

static void close_pool(void) {
    close_two();
    CHECK_EQ(fin_buffers_close(pool), 0);
}

static void open_receiver(void) {
    open_pool();
    CHECK_EQ(fin_receiver_open(&receiver, fd[0], pool), 0);
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

// Ends the receiver in the middle: what it had received and what is in the socket is all there is.
static void check_receiver(void) {
    void *piece;
    ssize_t n;
    if (next_random(&seed) % 8)
        return;
    CHECK_EQ(fin_receiver_stop(receiver), 0);
    while ((n = fin_receiver_next(receiver, &piece)) > 0) {
        check_received(piece, (size_t)n);
        CHECK_EQ(fin_buffers_put(pool, piece), 0);
    }
    CHECK_EQ(n, -ESHUTDOWN);
    CHECK_EQ(fin_receiver_close(receiver), 0);
    drain_from(fd[0]);
    CHECK_EQ(received, sent);
    CHECK_EQ(fin_receiver_open(&receiver, fd[0], pool), 0);
}

static void close_receiver(void) {
    CHECK(fin_receiver_close(receiver) >= 0);
    close_pool();
}

// Sends, into a socket that is full often; the other side takes what there is.

static void open_full_stream(void) {
    int small = 4096;
    open_stream();
    setsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
}

static void open_full_pipe(void) {
    open_pipe();
    fcntl(fd[1], F_SETPIPE_SZ, 4096);
}

static void take_some(void) {
    if (next_random(&seed) % 2)
        drain_from(fd[0]);
}

enum { MOST = 3000 };
static unsigned char out[MOST + 1];

static size_t some_data(void) {
    size_t n = next_random(&seed) % MOST + 1;
    number_bytes(out, n, sent);
    return n;
}

static void gave(ssize_t n) {
    if (outcome(n)) {
        CHECK(n > 0);
        sent += (unsigned)n;
    }
}

static void do_write(void) { gave(fin_write(fd[1], out, some_data())); }
static void do_send(void) { gave(fin_send(fd[1], out, some_data(), 0)); }
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

// Connections

static struct sockaddr_un name;
static socklen_t name_size;
static int listener, connections, accepted;
static struct fin_acceptor *acceptor;

static void open_listener(void) {
    listener = unix_listen(&name, &name_size, 8);
    connections = accepted = 0;
}

static void connect_one(void) {
    if (next_random(&seed) % 2)
        return;
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CHECK(client >= 0);
    connections += connect(client, (struct sockaddr *)&name, name_size) == 0;
    close(client);
}

static void accepted_one(int n) {
    if (outcome(n)) {
        CHECK(n >= 0);
        accepted++;
        close(n);
    }
}

static void do_accept(void) { accepted_one(fin_accept(listener, NULL, NULL)); }
static void do_acceptor(void) { accepted_one(fin_acceptor_next(acceptor)); }

static void take_backlog(void) {
    while (poll(&(struct pollfd){.fd = listener, .events = POLLIN}, 1, 0) == 1) {
        int peer = accept(listener, NULL, NULL);
        CHECK(peer >= 0);
        close(peer);
        accepted++;
    }
}

static void check_accept(void) {
    take_backlog();
    CHECK_EQ(accepted, connections);
}

static void close_listener(void) { close(listener); }

static void open_acceptor(void) {
    open_listener();
    CHECK_EQ(fin_acceptor_open(&acceptor, listener, 0), 0);
}

static void check_acceptor(void) {
    int n;
    if (next_random(&seed) % 4)
        return;
    if (next_random(&seed) % 2) {
        CHECK_EQ(fin_acceptor_stop(acceptor), 0);
        while ((n = fin_acceptor_next(acceptor)) >= 0) {
            accepted++;
            close(n);
        }
        CHECK_EQ(n, -ESHUTDOWN);
    }
    n = fin_acceptor_close(acceptor);
    CHECK(n >= 0);
    accepted += n;
    check_accept();
    CHECK_EQ(fin_acceptor_open(&acceptor, listener, 0), 0);
}

static void close_acceptor(void) {
    CHECK(fin_acceptor_close(acceptor) >= 0);
    close_listener();
}

static void open_full_listener(void) {
    listener = unix_listen(&name, &name_size, 0);
    connections = accepted = 0;
}

static void take_one(void) {
    if (next_random(&seed) % 2)
        take_backlog();
}

static void do_connect(void) {
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(client >= 0);
    int r = fin_connect(client, (struct sockaddr *)&name, name_size);
    if (outcome(r)) {
        CHECK_EQ(r, 0);
        connections++;
    }
    close(client);
}

// Files

static char path[] = "/tmp/fin-race-XXXXXX";
static char now[PIECE], before[PIECE];
static struct fin_memory *memory;

static void open_file(void) {
    strcpy(strchr(path, '\0') - 6, "XXXXXX");
    fd[0] = mkstemp(path);
    CHECK(fd[0] >= 0);
    memset(before, 'x', sizeof before);
    CHECK_EQ(pwrite(fd[0], before, sizeof before, 0), sizeof before);
    CHECK_EQ(fin_memory_register(&memory, now, sizeof now), 0);
}

static void close_file(void) {
    close(fd[0]);
    unlink(path);
    CHECK_EQ(fin_memory_unregister(memory), 0);
}

// What is in the file is what was written last.
static void wrote(ssize_t n) {
    if (outcome(n)) {
        CHECK_EQ(n, PIECE);
        memcpy(before, now, PIECE);
    }
    CHECK_EQ(pread(fd[0], now, PIECE, 0), PIECE);
    CHECK(memcmp(before, now, PIECE) == 0);
}

static void new_contents(void) { memset(now, (int)next_random(&seed), sizeof now); }

static void do_pwrite(void) {
    new_contents();
    wrote(fin_pwrite(fd[0], now, PIECE, 0));
}

static void do_pwrite_fixed(void) {
    new_contents();
    wrote(fin_pwrite_fixed(fd[0], memory, now, PIECE, 0));
}

static void do_pread(void) {
    memset(now, 0, sizeof now);
    ssize_t n = fin_pread(fd[0], now, PIECE, 0);
    if (outcome(n))
        CHECK(n == PIECE && memcmp(now, before, PIECE) == 0);
    else
        CHECK_EQ(now[0], 0);
}

static void do_fsync(void) {
    int n = fin_fsync(fd[0]);
    CHECK(!outcome(n) || n == 0);
}

static void do_openat(void) {
    int n = fin_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0); // descriptors are counted in the end
    if (outcome(n))
        CHECK_EQ(close(n), 0);
}

static void do_close(void) {
    int copy = dup(fd[0]);
    int n = fin_close(copy);
    CHECK_EQ(fcntl(copy, F_GETFD) < 0, outcome(n));
    if (n != 0)
        close(copy);
}

// Others

static void do_poll(void) {
    int n = fin_poll(fd[0], POLLIN);
    if (outcome(n)) {
        CHECK_EQ(n, POLLIN);
        CHECK(received < sent);
    }
    if (next_random(&seed) % 2)
        drain_from(fd[0]);
}

static void do_sleep(void) {
    uint64_t ns = next_random(&seed) % 20000, start = fin_now();
    int n = fin_sleep(ns);
    CHECK(!outcome(n) || (n == 0 && fin_now() - start >= ns));
}

static void count_one(void *count) { __atomic_add_fetch((int *)count, 1, __ATOMIC_SEQ_CST); }

static void do_offload(void) {
    int count = 0, n = fin_offload(count_one, &count);
    CHECK_EQ(__atomic_load_n(&count, __ATOMIC_SEQ_CST), outcome(n));
}

static void nothing(void) {}

static const struct race races[] = {
    {"read", open_stream, write_some, do_read, check_rest, close_two},
    {"read of a pipe", open_pipe, write_some, do_read, check_rest, close_two},
    {"recv", open_stream, write_some, do_recv, check_rest, close_two},
    {"recv of TCP", open_tcp, write_some, do_recv, nothing, close_two},
    {"readv", open_stream, write_some, do_readv, check_rest, close_two},
    {"recvmsg", open_stream, write_some, do_recvmsg, check_rest, close_two},
    {"timeout", open_stream, write_some, do_recv_in_time, check_rest, close_two},
    {"registered file", open_stream, write_some, do_recv_registered, check_rest, close_two},
    {"linked receives", open_stream, write_some, do_recv_linked, check_rest, close_two},
    {"buffers", open_pool, write_some, do_buffers, check_rest, close_pool},
    {"receiver", open_receiver, write_some, do_receiver, check_receiver, close_receiver},
    {"write", open_full_stream, take_some, do_write, check_rest, close_two},
    {"write to a pipe", open_full_pipe, take_some, do_write, check_rest, close_two},
    {"send", open_full_stream, take_some, do_send, check_rest, close_two},
    {"send, zero-copy", open_tcp, take_some, do_send_zc, nothing, close_two},
    {"writev", open_full_stream, take_some, do_writev, check_rest, close_two},
    {"sendmsg", open_full_stream, take_some, do_sendmsg, check_rest, close_two},
    {"linked sends", open_full_stream, take_some, do_send_linked, check_rest, close_two},
    {"splice", open_pipes, write_some, do_splice, check_splice, close_pipes},
    {"accept", open_listener, connect_one, do_accept, check_accept, close_listener},
    {"acceptor", open_acceptor, connect_one, do_acceptor, check_acceptor, close_acceptor},
    {"connect", open_full_listener, take_one, do_connect, nothing, close_listener},
    {"pread", open_file, nothing, do_pread, nothing, close_file},
    {"pwrite", open_file, nothing, do_pwrite, nothing, close_file},
    {"pwrite, registered", open_file, nothing, do_pwrite_fixed, nothing, close_file},
    {"fsync", open_file, nothing, do_fsync, nothing, close_file},
    {"openat", open_file, nothing, do_openat, nothing, close_file},
    {"close", open_file, nothing, do_close, nothing, close_file},
    {"poll", open_stream, write_some, do_poll, nothing, close_two},
    {"sleep", open_stream, nothing, do_sleep, nothing, close_two},
    {"offload", open_stream, nothing, do_offload, nothing, close_two},
};
enum { RACES = sizeof races / sizeof *races };

static long all_done, all_cancelled;

static void run_other(void *race) {
    pause_a_little(8);
    ((const struct race *)race)->other();
}

static void run_operation(void *race) { ((const struct race *)race)->operation(); }

static void run(const struct race *race, long rounds) {
    done = cancelled = 0;
    race->open();
    for (long i = 0; i < rounds; i++) {
        fin_finish {
            fin_async_call(run_other, (void *)race);
            fin_finish {
                fin_async_call(run_operation, (void *)race);
                pause_a_little(8);
                fin_cancel();
            }
        }
        race->check();
    }
    race->close();
    CHECK_EQ(done + cancelled, rounds);
    all_done += done;
    all_cancelled += cancelled;
    if (getenv("FIN_RACES") && rounds > 1)
        printf("%-20s %9d done %9d cancelled\n", race->name, done, cancelled);
}

// A buffer that was sent from is free when the peer has acknowledged, which takes it 40 ms at times.
static long rounds_of(const struct race *race, long all) {
    return all / RACES / (race->operation == do_send_zc ? 16 : 1) + 1;
}

int main(int argc, char **argv) {
    long all = getenv("FIN_RACES") ? atol(getenv("FIN_RACES")) : getenv("FIN_FEW") ? 100 * RACES : 1000 * RACES;
    int before_all = 0;
    for (int warm = 1; warm >= 0; warm--) {
        for (int i = 0; i < RACES; i++)
            if (argc < 2 || strcmp(argv[1], races[i].name) == 0)
                run(&races[i], warm ? 1 : rounds_of(&races[i], all));
        if (warm)
            before_all = open_descriptors();
    }
    CHECK_EQ(open_descriptors(), before_all);
    CHECK(all_done > 0);
    CHECK(all_cancelled > 0);
    return 0;
}
