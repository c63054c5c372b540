// SPDX-License-Identifier: BSD-2-Clause
// Without io_uring, where a filter denies what I/O goes through then: whoever would wait is told so, and nobody waits in
// vain or tries for ever. Where the filter comes later the program ends with a message that says what is denied.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <fin/on.h>

#include "child.h"
#include "deny.h"

static const unsigned errors[] = {EPERM, EACCES, ENOSYS};
static unsigned error;

// In a child, because a filter stays. With each error.
static void in_child(void (*fn)(void)) {
    for (int i = 0; i < 3; i++) {
        error = errors[i];
        pid_t child = fork();
        if (child == 0) {
            setrlimit(RLIMIT_CPU, &(struct rlimit){20, 20}); // rather than in vain without end
            alarm(50);
            fn();
            _exit(0);
        }
        denied_ended(child);
    }
}

static void nothing_waits(unsigned call, const char *name) {
    int fd[2];
    char c;
    deny(call, error);
    stream_pair(fd);
    CHECK_EQ(fin_sleep(FIN_MS), -(int)error);
    CHECK_EQ(fin_recv(fd[0], &c, 1, 0), -(int)error);
    CHECK_EQ(fin_poll(fd[0], POLLIN), -(int)error);
    CHECK(strncmp(fin_io_backend(), "none, because ", 14) == 0);
    CHECK(strstr(fin_io_backend(), name));
    CHECK(strstr(fin_io_backend(), strerror((int)error)));
}

static void no_epoll(void) { nothing_waits(SYS_epoll_create1, "epoll_create1(2)"); }
static void no_registration(void) { nothing_waits(SYS_epoll_ctl, "epoll_ctl(2)"); }
static void no_wait(void) { nothing_waits(SYS_epoll_pwait, "epoll_wait(2)"); }
static void no_eventfd(void) { nothing_waits(SYS_eventfd2, "eventfd2(2)"); }

// Whichever the libc's poll(3) is.
static void polls(void) {
    int fd[2];
    byte_comes();
    stream_pair(fd);
    CHECK_EQ(fin_poll(fd[0], POLLIN | POLLOUT), POLLOUT);
    CHECK_EQ(fin_send(fd[1], "x", 1, 0), 1);
    CHECK_EQ(fin_poll(fd[0], POLLIN), POLLIN);
}

static void no_poll(void) {
#ifdef SYS_poll
    deny(SYS_poll, error);
#endif
    polls();
}

// Times are rounded up to milliseconds then.
static void no_ppoll(void) {
#ifdef SYS_poll
    deny(SYS_ppoll, error);
    polls();
#endif
    deny(SYS_ppoll, error);
    byte_comes();
    uint64_t begin = fin_now();
    CHECK_EQ(fin_sleep(20 * FIN_MS), 0);
    CHECK(fin_now() - begin >= 20 * FIN_MS);
}

// Nobody can ask whether it is ready; it is tried each millisecond: a sum that has no room, though the eventfd is ready.
static void neither(void) {
    static uint64_t value = UINT64_MAX - 1, one = 1;
    static int sum;
    struct rusage used;
    deny(SYS_ppoll, error);
#ifdef SYS_poll
    deny(SYS_poll, error);
#endif
    byte_comes();
    sum = eventfd(0, 0);
    CHECK_EQ(write(sum, &value, sizeof value), sizeof value);
    fin_finish {
        fin_async {
            int n = (int)fin_write(sum, &one, sizeof one);
            CHECK(n == sizeof one || n == -(int)error);
        };
        CHECK_EQ(fin_sleep(200 * FIN_MS), 0);
        CHECK_EQ(read(sum, &value, sizeof value), sizeof value);
    }
    CHECK_EQ(getrusage(RUSAGE_SELF, &used), 0);
    CHECK_EQ(used.ru_utime.tv_sec + used.ru_stime.tv_sec, 0);
}

static int result;

static void got(void *state, int n) {
    (void)state;
    result = n;
    fin_cont_end();
}

static struct fin_on on;
static int pair[2];
static char byte[1];

static void receive(void *state, int ignored) {
    (void)state;
    (void)ignored;
    got(NULL, fin_recv_on(&on, pair[0], byte, 1, 0, got, NULL, 0));
}

// epoll says EPERM of files itself, which are always ready.
static void no_registration_later(void) {
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK_EQ(fin_sleep(1), 0);
    stream_pair(pair);
    deny(SYS_epoll_ctl, error);
    CHECK_EQ(fin_recv(pair[0], byte, 1, 0), -(int)error);
    CHECK_EQ(fin_poll(pair[0], POLLIN), -(int)error);
    CHECK_EQ(fin_poll(pair[0], POLLPRI), -(int)error);
    result = 1;
    fin_finish {
        CHECK(fin_async_cont(receive, NULL, 0));
    }
    CHECK_EQ(result, -(int)error);
    CHECK_EQ(fin_poll(file, POLLIN), POLLIN);
    CHECK_EQ(fin_read(file, byte, 1), 1);
    CHECK_EQ(fin_send(pair[1], "x", 1, 0), 1);
    CHECK_EQ(fin_recv(pair[0], byte, 1, 0), 1);
}

static void receives(void *result) { *(int *)result = (int)fin_recv(pair[0], byte, 1, 0); }

// Two wait. The byte is the first one's, and after that nobody would tell the second of anything.
static void no_registration_again(void) {
    static int results[2];
    stream_pair(pair);
    fin_finish {
        fin_async_call(receives, &results[0]);
        fin_async_call(receives, &results[1]);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        deny(SYS_epoll_ctl, error);
        CHECK_EQ(send(pair[1], "x", 1, 0), 1);
    }
    CHECK_EQ(results[0], 1);
    CHECK_EQ(results[1], -(int)error);
}

static void no_wait_later(void) {
    alarm(50);
    CHECK_EQ(fin_sleep(1), 0);
    deny(SYS_epoll_pwait, error);
    fin_sleep(FIN_MS);
}

static struct fin_sem sem;

static void *posts(void *unused) {
    deny(SYS_write, error); // of this thread alone
    for (;;) { // sooner or later to one that sleeps
        fin_sem_post(&sem);
        usleep(1000);
    }
    return unused;
}

static void no_wake(void) {
    pthread_t t;
    alarm(50);
    CHECK_EQ(fin_sleep(1), 0);
    fin_sem_init(&sem, 0);
    CHECK_EQ(pthread_create(&t, NULL, posts, NULL), 0);
    for (;;)
        CHECK_EQ(fin_sem_wait(&sem), 0);
}

static void *sleeps(void *unused) {
    deny(SYS_futex, error);
    CHECK_EQ(fin_sem_wait(&sem), 0);
    return unused;
}

static void no_futex(void) {
    pthread_t t;
    alarm(50);
    fin_sem_init(&sem, 0);
    CHECK_EQ(pthread_create(&t, NULL, sleeps, NULL), 0);
    pthread_join(t, NULL);
}

static void told(void (*fn)(void), const char *what) {
    for (int i = 0; i < 3; i++) {
        char text[1000];
        error = errors[i];
        CHECK_EQ(killed_by(fn, text, sizeof text), SIGABRT);
        CHECK(strstr(text, what));
        CHECK(strstr(text, strerror((int)error)));
    }
}

int main(void) {
    setenv("FIN_IO", "epoll", 1);
    in_child(no_epoll);
    in_child(no_registration);
    in_child(no_wait);
    in_child(no_eventfd);
    in_child(no_poll);
    in_child(no_ppoll);
    in_child(neither);
    in_child(no_registration_later);
    in_child(no_registration_again);
    told(no_wait_later, "epoll_wait(2) fails");
    if (on_valgrind() || ON_TSAN)
        return 0; // they need what follows for themselves
    told(no_wake, "write(2) to its eventfd fails");
    told(no_futex, "futex(2) fails");
    return 0;
}
