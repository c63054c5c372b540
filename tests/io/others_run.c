// SPDX-License-Identifier: BSD-2-Clause
// Who makes calls that never have to wait, however many, keeps nobody of its thread from running: neither a timer, nor who
// waits for data or for another thread. And a timeout ends it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#include "net.h"

enum { CALLS = 400, LEAST = 3 };

static int s[2], file, zero, null, registered, pipes[2][2];
static char data[512], got[512];

// ---- some calls; each has what it needs, or makes it

static void preads(void) { CHECK_EQ(fin_pread(file, got, sizeof got, 0), sizeof got); }
static void preads_nc(void) { CHECK_EQ(fin_pread_nc(file, got, sizeof got, 0), sizeof got); }
static void reads(void) { CHECK_EQ(fin_read(zero, got, sizeof got), sizeof got); }
static void writes(void) { CHECK_EQ(fin_write(null, data, sizeof data), sizeof data); }
static void reads_registered(void) { CHECK_EQ(fin_pread(registered, got, sizeof got, 0), sizeof got); }

static void reads_here(void) {
    CHECK_EQ(fin_read(file, got, sizeof got), sizeof got);
    CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
}

static void reads_vectors(void) {
    struct iovec v[2] = {{got, 100}, {got + 100, 200}};
    CHECK_EQ(fin_preadv(file, v, 2, 0), 300);
}

static void sends(void) {
    CHECK_EQ(fin_send(s[0], data, 100, 0), 100);
    CHECK_EQ(recv(s[1], got, sizeof got, 0), 100);
}

static void receives(void) {
    CHECK_EQ(send(s[0], data, 100, 0), 100);
    CHECK_EQ(fin_recv(s[1], got, sizeof got, 0), 100);
}

static void receives_all(void) {
    CHECK_EQ(send(s[0], data, 100, 0), 100);
    CHECK_EQ(fin_recv_all(s[1], got, 100, 0, NULL), 0);
}

static void receives_message(void) {
    struct iovec v = {got, sizeof got};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    CHECK_EQ(send(s[0], data, 100, 0), 100);
    CHECK_EQ(fin_recvmsg(s[1], &m, 0), 100);
}

static void polls(void) { CHECK_EQ(fin_poll(s[0], POLLOUT), POLLOUT); }

static void splices(void) {
    CHECK_EQ(write(pipes[0][1], data, 100), 100);
    CHECK_EQ(fin_splice(pipes[0][0], NULL, pipes[1][1], NULL, 100, 0), 100);
    CHECK_EQ(read(pipes[1][0], got, sizeof got), 100);
}

// ---- the others

static bool over;
static int turns, woken;

static void counts_turns(void *arg) {
    (void)arg;
    while (!over) {
        turns++;
        fin_yield();
    }
}

static void wakes(void *arg) {
    (void)arg;
    while (!over) {
        CHECK_EQ(fin_sleep(1), 0);
        woken++;
    }
}

static void goes_on(const char *what, void (*call)(void)) {
    over = false;
    turns = woken = 0;
    fin_finish {
        fin_async_call(counts_turns, NULL);
        fin_async_call(wakes, NULL);
        for (int i = 0; i < CALLS; i++)
            call();
        over = true;
    }
    if (turns < LEAST || woken < 2)
        fprintf(stderr, "%s: %d turns, %d times woken\n", what, turns, woken);
    CHECK(turns >= LEAST && woken >= 2);
}

static void is_timed_out(void) {
    fin_timeout(5 * FIN_MS) {
        while (!fin_cancelled())
            preads_nc();
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

static void without_end(void (*call)(void)) {
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
            call();
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
}

int main(void) {
    const struct {
        const char *name;
        void (*call)(void);
    } calls[] = {{"pread", preads},         {"pread_nc", preads_nc},   {"read", reads},
                 {"write", writes},         {"read here", reads_here}, {"read, registered", reads_registered},
                 {"preadv", reads_vectors}, {"send", sends},           {"recv", receives},
                 {"recv_all", receives_all}, {"recvmsg", receives_message}, {"poll", polls},
                 {"splice", splices}};
    set_up();
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        goes_on(calls[i].name, calls[i].call);
    without_end(preads);
    without_end(sends);
    without_end(reads_here);
    is_timed_out();
    CHECK_EQ(fin_file_unregister(registered), 0);
    return 0;
}
