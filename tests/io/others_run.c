// SPDX-License-Identifier: BSD-2-Clause
// Who makes calls that never have to wait, however many, keeps nobody of its thread from running: neither a timer, nor who
// waits for data or for another thread. And a timeout ends it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#include "net.h"
#include "others.h"

enum { CALLS = 400, LEAST = 3 };

static int s[2], file, zero, null, registered, pipes[2][2];
static char data[512], got[512];
static struct fin_buffers *buffers;
static struct fin_receiver *receiver;
static struct fin_acceptor *acceptor;
static struct sockaddr_in address;
static int streamed[2], listener; // the receiver's, the acceptor's

// ---- some calls; each has what it needs, or makes it

static void preads(int i) { (void)i; CHECK_EQ(fin_pread(file, got, sizeof got, 0), sizeof got); }
static void preads_nc(int i) { (void)i; CHECK_EQ(fin_pread_nc(file, got, sizeof got, 0), sizeof got); }
static void reads(int i) { (void)i; CHECK_EQ(fin_read(zero, got, sizeof got), sizeof got); }
static void writes(int i) { (void)i; CHECK_EQ(fin_write(null, data, sizeof data), sizeof data); }
static void reads_registered(int i) { (void)i; CHECK_EQ(fin_pread(registered, got, sizeof got, 0), sizeof got); }

static void reads_here(int i) {
    (void)i;
    CHECK_EQ(fin_read(file, got, sizeof got), sizeof got);
    CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
}

static void reads_vectors(int i) {
    (void)i;
    struct iovec v[2] = {{got, 100}, {got + 100, 200}};
    CHECK_EQ(fin_preadv(file, v, 2, 0), 300);
}

static void sends(int i) {
    (void)i;
    CHECK_EQ(fin_send(s[0], data, 100, 0), 100);
    CHECK_EQ(recv(s[1], got, sizeof got, 0), 100);
}

static void receives(int i) {
    (void)i;
    CHECK_EQ(send(s[0], data, 100, 0), 100);
    CHECK_EQ(fin_recv(s[1], got, sizeof got, 0), 100);
}

static void receives_all(int i) {
    (void)i;
    CHECK_EQ(send(s[0], data, 100, 0), 100);
    CHECK_EQ(fin_recv_all(s[1], got, 100, 0, NULL), 0);
}

static void receives_message(int i) {
    (void)i;
    struct iovec v = {got, sizeof got};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    CHECK_EQ(send(s[0], data, 100, 0), 100);
    CHECK_EQ(fin_recvmsg(s[1], &m, 0), 100);
}

static void polls(int i) { (void)i; CHECK_EQ(fin_poll(s[0], POLLOUT), POLLOUT); }

static void splices(int i) {
    (void)i;
    CHECK_EQ(write(pipes[0][1], data, 100), 100);
    CHECK_EQ(fin_splice(pipes[0][0], NULL, pipes[1][1], NULL, 100, 0), 100);
    CHECK_EQ(read(pipes[1][0], got, sizeof got), 100);
}

static void chains(int i) {
    struct fin_step steps[] = {fin_step_send(s[0], data, 10, 0), fin_step_recv(s[1], got, 10, MSG_WAITALL)};
    (void)i;
    CHECK_EQ(fin_linked(steps, 2), 2);
}

static void takes_buffers(int i) {
    void *piece;
    (void)i;
    CHECK_EQ(send(s[0], data, 100, 0), 100);
    CHECK_EQ(fin_buffers_recv(buffers, s[1], &piece, 0), 100);
    CHECK_EQ(fin_buffers_put(buffers, piece), 0);
}

static void takes_next(int i) {
    void *piece;
    (void)i;
    CHECK_EQ(send(streamed[1], data, 100, 0), 100);
    CHECK_EQ(fin_receiver_next(receiver, &piece), 100);
    CHECK_EQ(fin_buffers_put(buffers, piece), 0);
}

static void accepts(int i) {
    (void)i;
    int client = tcp_connect(&address), fd = fin_acceptor_next(acceptor);
    CHECK(fd >= 0);
    close(fd);
    close(client);
}

static void is_timed_out(void) {
    fin_timeout(5 * FIN_MS) {
        while (!fin_cancelled())
            preads_nc(0);
    }
}

// ---- who waits for data, and for another thread, while that goes on without end

static struct fin_event event = FIN_EVENT_INIT;
static int pair[2], left;

static void *wakes_from_afar(void *arg) {
    usleep(5000);
    fin_event_advance(&event, 1);
    return arg;
}

static void sends_later(void *arg) {
    (void)arg;
    CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
    CHECK_EQ(write(pair[1], "x", 1), 1);
    left--;
}

static void waits_for_data(void *arg) {
    char c;
    (void)arg;
    CHECK_EQ(fin_recv(pair[0], &c, 1, 0), 1);
    left--;
}

static void waits_for_thread(void *arg) {
    CHECK_EQ(fin_event_await(&event, *(uint64_t *)arg), 0);
    left--;
}

static void without_end(void (*call)(int)) {
    static uint64_t next;
    pthread_t thread;
    left = 3;
    next = fin_event_read(&event) + 1;
    CHECK_EQ(pthread_create(&thread, NULL, wakes_from_afar, NULL), 0);
    fin_finish {
        fin_async_call(sends_later, NULL);
        fin_async_call(waits_for_data, NULL);
        fin_async_call(waits_for_thread, &next);
        while (left)
            call(0);
    }
    pthread_join(thread, NULL);
}

static void set_up(void) {
    stream_pair(s);
    stream_pair(pair);
    file = nameless_file();
    CHECK_EQ(write(file, data, sizeof data), sizeof data);
    CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
    zero = open("/dev/zero", O_RDONLY);
    null = open("/dev/null", O_WRONLY);
    CHECK(zero >= 0 && null >= 0);
    registered = fin_file_register(file);
    CHECK(registered >= 0);
    CHECK(pipe(pipes[0]) == 0 && pipe(pipes[1]) == 0);
    stream_pair(streamed);
    CHECK_EQ(fin_buffers_open(&buffers, 8, 128), 0);
    CHECK_EQ(fin_receiver_open(&receiver, streamed[0], buffers), 0);
    listener = tcp_listen(&address, 8);
    CHECK_EQ(fin_acceptor_open(&acceptor, listener, 0), 0);
}

static void tidy_up(void) {
    CHECK_EQ(fin_file_unregister(registered), 0);
    CHECK_EQ(fin_acceptor_close(acceptor), 0);
    CHECK_EQ(fin_receiver_close(receiver), 0);
    CHECK_EQ(fin_buffers_close(buffers), 0);
    close(listener);
}

int main(void) {
    const struct {
        const char *name;
        void (*call)(int);
    } calls[] = {
        {"pread", preads},
        {"pread_nc", preads_nc},
        {"read", reads},
        {"write", writes},
        {"read here", reads_here},
        {"read, registered", reads_registered},
        {"preadv", reads_vectors},
        {"send", sends},
        {"recv", receives},
        {"recv_all", receives_all},
        {"recvmsg", receives_message},
        {"poll", polls},
        {"splice", splices},
        {"chain", chains},
        {"buffers", takes_buffers},
        {"receiver", takes_next},
        {"acceptor", accepts},
    };
    set_up();
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        beside_others(calls[i].name, calls[i].call, CALLS, LEAST);
    without_end(preads);
    without_end(sends);
    without_end(reads_here);
    is_timed_out();
    tidy_up();
    return 0;
}
