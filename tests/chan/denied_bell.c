// SPDX-License-Identifier: BSD-2-Clause
// Where a filter denies what a channel between processes is made, rung and heard with, its calls say so, or go another way:
// who sleeps is woken, and nobody is taken for gone.
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

#include <fin/alert.h>
#include <fin/chan_on.h>

#include "../io/deny.h"
#include "../io/net.h"

#ifdef SYS_poll
enum { POLL = SYS_poll };
#else
enum { POLL = SYS_ppoll };
#endif

enum { SIZE = 4096, MESSAGES = 300, LARGE = 1000 };

static const unsigned errors[] = {EPERM, EACCES, ENOSYS};
static unsigned error;
static int tried; // of them

static pid_t child_of(void (*fn)(int fd), int fd) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CPU, &(struct rlimit){20, 20});
        alarm(50);
        fn(fd);
        _exit(0);
    }
    return child;
}

static const struct fin_chan_options small = {SIZE, 0};

// One process offers, the other one takes.
static void between(void (*offers)(int fd), void (*takes)(int fd)) {
    for (int i = 0; i < tried; i++) {
        int fd[2];
        error = errors[i];
        CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), 0);
        pid_t one = child_of(offers, fd[0]), other = child_of(takes, fd[1]);
        close(fd[0]);
        close(fd[1]);
        denied_ended(one);
        denied_ended(other);
    }
}

static struct fin_chan *offered(int fd) {
    struct fin_chan *c;
    CHECK_EQ(fin_chan_offer(&c, fd, &small), 0);
    return c;
}

static struct fin_chan *taken(int fd) {
    struct fin_chan *c;
    CHECK_EQ(fin_chan_take(&c, fd, 0), 0);
    return c;
}

// Each waits for the other, for a message and for room.
static void talks(struct fin_chan *c, bool first) {
    char bytes[LARGE] = {0};
    for (int i = 0; i < MESSAGES; i++) {
        size_t size = i % 3 ? 20 : LARGE;
        bool sends = (i < 20 ? i % 2 : i < MESSAGES / 2) == first; // by turns, then as many as there is room for
        if (i % 50 == 9)
            CHECK_EQ(fin_sleep(20 * FIN_MS), 0); // so that the other falls asleep
        if (sends)
            CHECK_EQ(fin_chan_send(c, bytes, size), 0);
        else
            CHECK_EQ(fin_chan_recv(c, bytes, sizeof bytes), size);
    }
    CHECK_EQ(fin_chan_close(c), 0);
}

static void first_talks(int fd) { talks(offered(fd), true); }
static void second_talks(int fd) { talks(taken(fd), false); }

static void first_without_send(int fd) {
    struct fin_chan *c = offered(fd);
    deny(SYS_sendto, error);
    talks(c, true);
}

static void second_without_send(int fd) {
    struct fin_chan *c = taken(fd);
    deny(SYS_sendto, error);
    talks(c, false);
}

static void first_without_poll(int fd) {
    struct fin_chan *c = offered(fd);
    deny(POLL, error);
    deny(SYS_ppoll, error);
    talks(c, true);
}

static struct fin_chan_on on;
static struct fin_chan *end;
static char text[8];
static int result = 1;

static void got(void *state, int n) {
    (void)state;
    result = n;
    fin_cont_end();
}

static void receive(void *state, int ignored) {
    (void)ignored;
    got(state, fin_chan_recv_on(end, text, sizeof text, &on, got, NULL, 0));
}

// On epoll it cannot ask whether there is something, and is told that.
static void without_stack(int fd) {
    end = taken(fd);
    deny(POLL, error);
    deny(SYS_ppoll, error);
    fin_finish {
        CHECK(fin_async_cont(receive, NULL, 0));
    }
    CHECK(result == 3 || result == -(int)error);
    CHECK_EQ(fin_chan_close(end), 0);
}

static void sends_late(int fd) {
    struct fin_chan *c = offered(fd);
    CHECK_EQ(fin_sleep(30 * FIN_MS), 0);
    int r = fin_chan_send(c, "one", 3);
    CHECK(r == 0 || r == -EPIPE); // it has closed
    CHECK_EQ(fin_chan_close(c), 0);
}

// It cannot wake who sleeps, which the other side will sooner or later, and is told so by the call that would.
static void cannot_ring(int fd) {
    struct fin_chan *c = offered(fd);
    deny(SYS_sendto, error);
    deny(SYS_sendmsg, error);
    int r;
    while ((r = fin_chan_send(c, "one", 3)) == 0)
        CHECK_EQ(fin_sleep(10 * FIN_MS), 0);
    CHECK_EQ(r, -(int)error);
    CHECK_EQ(fin_chan_send(c, "more", 4), -(int)error);
    CHECK_EQ(fin_chan_close(c), 0);
}

static void hears_the_end(int fd) {
    struct fin_chan *c = taken(fd);
    ssize_t n;
    while ((n = fin_chan_recv(c, text, sizeof text)) > 0) {
    }
    CHECK_EQ(n, -ESHUTDOWN);
    CHECK_EQ(fin_chan_close(c), 0);
}

// What has come is there. Who would sleep is told, and the other is not taken for gone.
static void cannot_hear(int fd) {
    struct fin_chan *c = taken(fd);
    CHECK_EQ(fin_chan_recv(c, text, sizeof text), 3);
    deny(SYS_recvmsg, error);
    ssize_t n;
    while ((n = fin_chan_recv(c, text, sizeof text)) > 0) {
    }
    CHECK(n == -(int)error || n == -ESHUTDOWN);
    while ((n = fin_chan_try_recv(c, text, sizeof text)) == -EAGAIN)
        fin_yield();
    CHECK(n == 3 || n == -(int)error || n == -ESHUTDOWN);
    CHECK_EQ(fin_chan_close(c), 0);
}

static void sends_slowly(int fd) {
    struct fin_chan *c = offered(fd);
    for (int i = 0; i < tried; i++) {
        int r = fin_chan_send(c, "one", 3);
        CHECK(r == 0 || (r == -EPIPE && i > 0)); // it may have closed by then
        CHECK_EQ(fin_sleep(30 * FIN_MS), 0);
    }
    CHECK_EQ(fin_chan_close(c), 0);
}

// ---- what does not come to be

static void nothing(void *unused) { (void)unused; }

static void two_ends(struct fin_chan **a, struct fin_chan **b) {
    int fd[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), 0);
    *a = offered(fd[0]);
    *b = taken(fd[1]);
}

static void no_set(unsigned call) {
    struct fin_chan *a, *b;
    struct fin_waitset *w;
    two_ends(&a, &b);
    CHECK_EQ(fin_waitset_new(&w), 0);
    deny(call, error);
    CHECK_EQ(fin_waitset_add(w, a, nothing, NULL), -(int)error);
    fin_waitset_close(w);
}

static void not_monitored(unsigned call) {
    struct fin_chan *a, *b;
    struct fin_waitset *w;
    two_ends(&a, &b);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, a, nothing, NULL), 0);
    deny(call, error);
    CHECK_EQ(fin_waitset_monitor(w), -(int)error);
    fin_waitset_close(w);
}

static void not_taken(unsigned call) {
    struct fin_chan *a, *b;
    int fd[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), 0);
    a = offered(fd[0]);
    deny(call, error);
    CHECK_EQ(fin_chan_take(&b, fd[1], 0), -(int)error);
    CHECK_EQ(fin_chan_close(a), 0);
}

static void no_wait(int fd) { (void)fd, no_set(SYS_epoll_pwait); }
static void no_registration(int fd) { (void)fd, no_set(SYS_epoll_ctl); }
static void no_action(int fd) { (void)fd, not_monitored(SYS_rt_sigaction); }
static void no_identity(int fd) { (void)fd, not_monitored(SYS_gettid); }
static void no_signal(int fd) { (void)fd, not_monitored(SYS_tgkill); }
static void no_owner(int fd) { (void)fd, not_monitored(SYS_fcntl); }
static void no_option(int fd) { (void)fd, not_taken(SYS_getsockopt); }
static void no_status(int fd) { (void)fd, not_taken(SYS_fstat); }
static void no_file_system(int fd) { (void)fd, not_taken(SYS_fstatfs); }

static void alone(void (*fn)(int fd)) {
    for (int i = 0; i < tried; i++) {
        error = errors[i];
        denied_ended(child_of(fn, -1));
    }
}

int main(void) {
    tried = on_valgrind() ? 1 : 3; // where a process takes a second to begin
    signal(SIGPIPE, SIG_IGN);
    alone(no_wait); // first: of two processes one would wait for one that is told that there are no filters
    alone(no_registration);
    alone(no_option);
    alone(no_status);
    alone(no_file_system);
    if (!on_valgrind()) { // which needs these for itself
        alone(no_action);
        alone(no_identity);
        alone(no_signal);
        alone(no_owner);
    }
    between(first_without_send, second_talks);
    between(first_talks, second_without_send);
    between(first_without_send, second_without_send);
    between(first_without_poll, second_talks);
    between(sends_late, without_stack);
    between(cannot_ring, hears_the_end);
    between(sends_slowly, cannot_hear);
    return 0;
}
