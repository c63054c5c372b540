// SPDX-License-Identifier: BSD-2-Clause
// To close what somebody else has sent may take as long as he likes: a socket may have been told to linger until its peer
// has read all, a file system may be a process that does not answer. So a thread does it, which is there while there is
// something to close.
//
// Nor may who has it ask the file system what it is, even: so it asks the kernel only what the kernel knows itself.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "descriptors.h"
#include "forks.h"
#include "own_thread.h"

enum { MOST = 256 };            // that wait: not all numbers of the process; what comes beyond is closed by who has it
enum { SOME = 8, PATIENCE_MS = 5 }; // with so many the thread is given time, unless it stands still

static struct {
    pthread_mutex_t lock;
    pthread_cond_t closed; // once `known`
    int fds[MOST];
    unsigned count;
    bool known, runs, stands_still;
} waiting = {.lock = PTHREAD_MUTEX_INITIALIZER};

// A socket of a network is told not to linger, though others may have it as well: then the rest is the kernel's work.
static bool is_network(int fd) {
    int domain = 0;
    socklen_t size = sizeof domain;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || (domain != AF_INET && domain != AF_INET6))
        return false;
    return setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){0}, sizeof(struct linger)) == 0;
}

// Has nobody a say in how long its end takes?
static bool ends_at_once(int fd) {
    return fcntl(fd, F_GETPIPE_SZ) >= 0 || fcntl(fd, F_GET_SEALS) >= 0 || is_network(fd);
}

// With the lock in and out. False: there is nothing to close, and the thread ends.
static bool close_next(void) {
    waiting.runs = waiting.count > 0;
    if (!waiting.runs)
        return false;
    int fd = waiting.fds[--waiting.count];
    pthread_mutex_unlock(&waiting.lock);
    close(fd);
    pthread_mutex_lock(&waiting.lock);
    waiting.stands_still = false;
    pthread_cond_signal(&waiting.closed);
    return true;
}

static void close_all(void) {
    pthread_mutex_lock(&waiting.lock);
    while (close_next()) {
    }
    pthread_mutex_unlock(&waiting.lock);
}

// With the lock.
static bool start(void) {
    static const struct fin_own_thread thread = {.name = "fin-close", .run = close_all};
    return waiting.runs = fin_own_thread_start(&thread) == 0;
}

// What waits is not closed in the child: by the time that it could be, these may be the numbers of other files.
static void forget_thread(void) {
    pthread_mutex_init(&waiting.lock, NULL);
    waiting.count = 0;
    waiting.known = waiting.runs = waiting.stands_still = false;
}

// With the lock. What is dropped all the time is not to take the process's numbers up.
static void give_time(void) {
    struct timespec until;
    if (waiting.count < SOME || waiting.stands_still)
        return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PATIENCE_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (waiting.count >= SOME && !waiting.stands_still)
        waiting.stands_still = pthread_cond_timedwait(&waiting.closed, &waiting.lock, &until) != 0;
}

static bool leave_to_thread(int fd) {
    static bool watched;
    if (fin_watch_forks(&watched, forget_thread) != 0)
        return false;
    pthread_mutex_lock(&waiting.lock);
    if (!waiting.known)
        fin_own_cond_init(&waiting.closed);
    waiting.known = true;
    give_time();
    bool can = waiting.count < MOST && (waiting.runs || start());
    if (can)
        waiting.fds[waiting.count++] = fd;
    pthread_mutex_unlock(&waiting.lock);
    return can;
}

void fin_close_stranger(int fd) {
    if (ends_at_once(fd) || !leave_to_thread(fd))
        close(fd);
}
