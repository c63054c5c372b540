// SPDX-License-Identifier: BSD-2-Clause
// A set that is shut down is monitored by nobody, also where a thread begins to monitor it at that moment: here one waits
// for its turn to do so while the shutdown undoes the monitoring that there was.
#undef _FILE_OFFSET_BITS // fcntl and fcntl64 are two names here
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fin/alert.h>

#include "chan.h"

static struct fin_waitset *set;
static struct fin_thread_handle other;
static int begun, waits, ended, checked, result;
static bool shuts;
static __thread bool is_other;

static void until(const int *flag) {
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
        syscall(SYS_sched_yield);
}

static void monitors(void *arg) {
    (void)arg;
    is_other = true;
    result = fin_waitset_monitor(set);
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
    until(&checked); // its end would undo it
}

// The shutdown undoes the signals of the member: by then it has the latch.
static void undoes(void) {
    if (!shuts || is_other || begun)
        return;
    begun = 1;
    CHECK_EQ(fin_thread_start(&other, monitors, NULL), 0);
    until(&waits);
}

int fcntl64(int fd, int command, ...) {
    va_list args;
    va_start(args, command);
    long arg = va_arg(args, long);
    va_end(args);
    undoes();
    return (int)syscall(SYS_fcntl, fd, command, arg);
}

int fcntl(int fd, int command, ...) __attribute__((alias("fcntl64")));

// Who waits for long, and who passes the latch on to such a one.
int sched_yield(void) {
    if (is_other)
        __atomic_store_n(&waits, 1, __ATOMIC_RELEASE);
    else if (begun)
        until(&ended);
    return (int)syscall(SYS_sched_yield);
}

static void nothing(void *arg) { (void)arg; }

int main(void) {
    int fd[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd), 0);
    fin_finish {
        CHECK_EQ(fin_chan_offer(&a, fd[0], NULL), 0);
        CHECK_EQ(fin_chan_take(&b, fd[1], 0), 0);
    }
    CHECK_EQ(fin_waitset_new(&set), 0);
    CHECK_EQ(fin_waitset_add(set, a, nothing, NULL), 0);
    CHECK_EQ(fin_waitset_monitor(set), 0);
    shuts = true;
    fin_waitset_shutdown(set);
    CHECK(begun);
    until(&ended);
    CHECK(!fin_waitset_is_monitored(set));
    __atomic_store_n(&checked, 1, __ATOMIC_RELEASE);
    fin_thread_join_nc(&other);
    CHECK_EQ(result, -ESHUTDOWN);
    fin_waitset_close(set);
    CHECK_EQ(fin_chan_close(a), 0);
    CHECK_EQ(fin_chan_close(b), 0);
    return 0;
}
