// SPDX-License-Identifier: BSD-2-Clause
// Descriptors that another process sends, and whose close takes as long as it likes: here a socket that lingers until its
// peer has read all. Who receives the message does not wait for that: not where it drops them, refuses them, or closes the
// channel.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include <fin/chan_on.h>

#include "lingers.h"

static int reader;
static bool in_another;

static void sends(void *unused) {
    static const char bytes[1000];
    (void)unused;
    while (fin_chan_send(a, bytes, sizeof bytes) == 0) {
    }
}

static struct fin_chan_on on;

static void sent(void *state, int result) {
    static const char bytes[1000];
    (void)state;
    if (result < 0)
        fin_cont_end();
    fin_chan_send_on(a, bytes, sizeof bytes, &on, sent, NULL, 0);
}

static void sends_on(void *state, int result) { sent(state, result); }

static void send_it(struct fin_chan *to) {
    int s = lingers(&reader, in_another);
    CHECK_EQ(fin_chan_send_fds(to, "x", 1, &s, 1), 0);
    CHECK_EQ(close(s), 0);
}

// It has been closed, and all of it has come.
static void read_all(void) {
    char bytes[65536];
    ssize_t n;
    alarm(60);
    while ((n = read(reader, bytes, sizeof bytes)) > 0) {
    }
    CHECK_EQ(n, 0);
    close(reader);
}

static void dropped(void) {
    char byte;
    open_kind(SOCKET, 0, 0);
    send_it(a);
    alarm(20);
    CHECK_EQ(fin_chan_recv(b, &byte, 1), 1);
    read_all();
    close_both();
}

static void left_by_who_closes(void) {
    char byte[2];
    int fd;
    unsigned count = 0;
    open_kind(SOCKET, 0, 0);
    send_it(a);
    CHECK_EQ(fin_chan_recv_fds(b, byte, 2, &fd, &count), -EMSGSIZE); // it has come, and stays
    alarm(20);
    close_both();
    read_all();
}

static void unread(void) {
    open_kind(SOCKET, 0, 0);
    send_it(a);
    CHECK_EQ(fin_chan_close(a), 0);
    alarm(20);
    CHECK_EQ(fin_chan_close(b), 0);
    read_all();
}

// As that, where the other side has gone with what was sent to it unread: this is told first.
static void unread_by_both(void) {
    open_kind(SOCKET, 0, 0);
    send_it(a);
    CHECK_EQ(fin_chan_send_fds(b, "x", 1, &(int){STDIN_FILENO}, 1), 0);
    CHECK_EQ(fin_chan_close(a), 0);
    alarm(20);
    CHECK_EQ(fin_chan_close(b), 0);
    read_all();
}

// To who waits for room. No side of ours sends descriptors there.
static void for_room(bool with_stack) {
    int s[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
    CHECK_EQ(fin_chan_offer(&a, s[0], &(struct fin_chan_options){4096, 0}), 0);
    fin_finish {
        if (with_stack)
            fin_async_call(sends, NULL);
        else
            CHECK(fin_async_cont(sends_on, NULL, 0) != NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        int fd = lingers(&reader, in_another);
        send_descriptor(s[1], fd);
        CHECK_EQ(close(fd), 0);
        alarm(20);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        alarm(0);
        fin_cancel();
    }
    read_all();
    CHECK_EQ(fin_chan_close(a), 0);
    close(s[1]);
}

static bool has_ended(int from) {
    char bytes[65536];
    ssize_t n;
    while ((n = recv(from, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
    }
    return n == 0;
}

// One after the other is closed, in an order of its own.
static int end_of_some(int *readers, int count) {
    int n = 0;
    for (int i = 0; i < count; i++)
        if (readers[i] >= 0 && has_ended(readers[i])) {
            close(readers[i]);
            readers[i] = -1;
            n++;
        }
    return n;
}

static void dropped_one_by_one(int *readers, int count, bool another) {
    char byte;
    open_kind(SOCKET, 0, 0);
    for (int i = 0; i < count; i++) {
        int s = lingers(&readers[i], another);
        CHECK_EQ(fin_chan_send_fds(a, "x", 1, &s, 1), 0);
        CHECK_EQ(close(s), 0);
        alarm(20);
        CHECK_EQ(fin_chan_recv(b, &byte, 1), 1);
    }
    for (int left = count; left > 0;)
        left -= end_of_some(readers, count);
    close_both();
}

// Whoever asks for the time of day learns one that is set back by an hour right after.
int clock_gettime(clockid_t clock, struct timespec *t) {
    int r = (int)syscall(SYS_clock_gettime, clock, t);
    t->tv_sec += clock == CLOCK_REALTIME ? 3600 : 0;
    return r;
}

// While the library's thread stands still, who drops more waits some milliseconds for it, and no hour.
static void dropped_while_the_clock_changes(void) {
    enum { FEW = 12 };
    int readers[FEW];
    dropped_one_by_one(readers, FEW, true);
}

// More than the library keeps for its thread.
static void many(void) {
    enum { MANY = 300 };
    int readers[MANY];
    struct rlimit r;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &r), 0);
    r.rlim_cur = r.rlim_max < 2000 ? r.rlim_max : 2000;
    if (setrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur < 2 * MANY + 100)
        return;
    dropped_one_by_one(readers, MANY, false);
}

// In place of an offer; or after what is none.
static void refused(int packets) {
    int s[2], fd = lingers(&reader, in_another);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
    if (packets > 1)
        CHECK_EQ(send(s[0], "nonsense", 8, 0), 8);
    send_descriptor(s[0], fd);
    CHECK_EQ(close(fd), 0);
    alarm(20);
    CHECK_EQ(fin_chan_take(&a, s[1], 0), -EPROTO);
    read_all();
    close(s[0]);
}

// It is offered a channel, and has gone.
static void turned_away(void) {
    int s[2], fd = lingers(&reader, in_another);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
    send_descriptor(s[1], fd);
    CHECK_EQ(close(fd), 0);
    close(s[1]);
    alarm(20);
    CHECK_EQ(fin_chan_offer(&a, s[0], NULL), -EPIPE);
    read_all();
}

int main(void) {
    if (on_valgrind())
        SKIP("valgrind runs no other thread during a close");
    for (int i = 0; i < 2; i++) {
        in_another = i;
        dropped();
        left_by_who_closes();
        unread();
        unread_by_both();
        for_room(true);
        for_room(false);
        refused(1);
        refused(2);
        turned_away();
    }
    dropped_while_the_clock_changes();
    many();
    return 0;
}
