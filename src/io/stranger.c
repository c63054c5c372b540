// SPDX-License-Identifier: BSD-2-Clause
// To close what somebody else has sent may take as long as he likes: a socket may have been told to linger until its peer
// has read all, a file system may be a process that does not answer. So a thread does it, which is there while there is
// something to close.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "descriptors.h"
#include "forks.h"

enum { MOST = 256 }; // that wait: not all numbers of the process; what comes beyond is closed by who has it
enum { TMPFS = 0x01021994, PIDFS = 0x50494446, MEMORY_DEVICES = 1 };

static struct {
    pthread_mutex_t lock;
    struct stranger {
        int fd;
        dev_t device; // whose number that is; in the child of a fork it may have become another's
        ino_t inode;
    } all[MOST];
    unsigned count;
    bool runs;
} waiting = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_in_kernel(int fd) {
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && (fs.f_type == TMPFS || fs.f_type == PIDFS);
}

// Has nobody a say in how long its end takes? What has no kind is the kernel's: an eventfd, a pidfd.
static bool ends_at_once(int fd, const struct stat *s) {
    if ((s->st_mode & S_IFMT) == 0 || S_ISFIFO(s->st_mode))
        return true;
    return S_ISCHR(s->st_mode) ? s->st_rdev >> 8 == MEMORY_DEVICES : S_ISREG(s->st_mode) && is_in_kernel(fd);
}

static bool is_still(const struct stranger *x) {
    struct stat s;
    return fstat(x->fd, &s) == 0 && s.st_dev == x->device && s.st_ino == x->inode;
}

// With the lock in and out, unless it ends.
static bool close_next(void) {
    waiting.runs = waiting.count > 0;
    if (!waiting.runs)
        return false;
    struct stranger x = waiting.all[--waiting.count];
    pthread_mutex_unlock(&waiting.lock);
    if (is_still(&x))
        close(x.fd);
    pthread_mutex_lock(&waiting.lock);
    return true;
}

static void *close_all(void *unused) {
    pthread_setname_np(pthread_self(), "fin-close");
    pthread_mutex_lock(&waiting.lock);
    while (close_next()) {
    }
    pthread_mutex_unlock(&waiting.lock);
    return unused;
}

// With the lock. The thread takes no signals.
static bool start(void) {
    sigset_t all, before;
    pthread_t t;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    waiting.runs = pthread_create(&t, NULL, close_all, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (waiting.runs)
        pthread_detach(t);
    return waiting.runs;
}

// What waits is the child's as well, and goes with the next one.
static void forget_thread(void) {
    pthread_mutex_init(&waiting.lock, NULL);
    waiting.runs = false;
}

static bool leave_to_thread(int fd, const struct stat *s) {
    static bool watched;
    if (fin_watch_forks(&watched, forget_thread) != 0)
        return false;
    pthread_mutex_lock(&waiting.lock);
    bool can = waiting.count < MOST && (waiting.runs || start());
    if (can) { // in this order, for the child of a fork
        waiting.all[waiting.count] = (struct stranger){fd, s->st_dev, s->st_ino};
        __atomic_store_n(&waiting.count, waiting.count + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&waiting.lock);
    return can;
}

// Where too many wait a socket is told not to linger, though others may have it as well.
void fin_close_stranger(int fd) {
    struct stat s;
    if (fstat(fd, &s) != 0)
        return;
    if (!ends_at_once(fd, &s)) {
        if (leave_to_thread(fd, &s))
            return;
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){0}, sizeof(struct linger));
    }
    close(fd);
}
