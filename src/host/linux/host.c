// SPDX-License-Identifier: BSD-2-Clause
// Linux under the core: memory, identity, sleep and wake of threads.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <linux/futex.h>

#include "chan/host.h"
#include "core/runtime.h"
#include "forks.h"
#include "host/linux/held.h"
#include "host/linux/trace.h"
#include "host/linux/crash.h"
#include "host/linux/stats.h"
#include "host/linux/stuck.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 // Linux 6.13
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

enum { DEFAULT_STACK_SIZE = 64 * 1024, LEAST_STACK_SIZE = 16 * 1024 };

size_t fin_host_page_size(void) {
    static size_t known; // a race writes the same value
    size_t size = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!size) {
        size = (size_t)sysconf(_SC_PAGESIZE);
        __atomic_store_n(&known, size, __ATOMIC_RELAXED);
    }
    return size;
}

// FIN_STACK_SIZE, as it was when it was first asked for; SIZE_MAX: there is none.
static size_t stack_size_in_environment(void) {
    static size_t known = SIZE_MAX - 1; // not asked for; a race writes the same value
    size_t size = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (size == SIZE_MAX - 1) {
        const char *text = getenv("FIN_STACK_SIZE");
        char *end = NULL;
        size = text ? strtoul(text, &end, 0) : SIZE_MAX;
        if (text && (text[0] < '0' || text[0] > '9' || *end || size > FIN_MOST_STACK_SIZE))
            fin_host_die("FIN_STACK_SIZE is not a number of bytes, up to 1 GiB");
        __atomic_store_n(&known, size, __ATOMIC_RELAXED);
    }
    return size;
}

// One page is the guard, and pages may have 64 KiB.
size_t fin_host_stack_size(size_t wanted) {
    size_t set = stack_size_in_environment(), asked = set != SIZE_MAX ? set : wanted ? wanted : DEFAULT_STACK_SIZE;
    size_t size = LEAST_STACK_SIZE;
    while (size < asked || size < 4 * fin_host_page_size())
        size *= 2;
    return size;
}

void *fin_host_map(size_t size, size_t align) {
    size_t page = fin_host_page_size();
    size = (size + page - 1) & ~(page - 1);
    size_t more = align > page ? align : 0;
    char *p = mmap(NULL, size + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (more) {
        char *q = (char *)(((uintptr_t)p + align - 1) & ~(align - 1));
        if (q != p)
            munmap(p, (size_t)(q - p));
        munmap(q + size, more - (size_t)(q - p));
        p = q;
        // a huge page under a stack would cost 2 MiB where 4 KiB are used
        madvise(p, size, MADV_NOHUGEPAGE);
    }
    return p;
}

void fin_host_unmap(void *p, size_t size) {
    size_t page = fin_host_page_size();
    munmap(p, (size + page - 1) & ~(page - 1));
}

// Accepting the advice is not following it: qemu's user mode accepts any. A guard cannot be populated.
static bool guarded(void *page, size_t size) { return madvise(page, size, MADV_POPULATE_READ) != 0; }

int fin_host_guard(void *page, size_t size) {
    static int markers; // 1: they work, -1: they do not; a race writes the same value
    int known = __atomic_load_n(&markers, __ATOMIC_RELAXED);
    if (known >= 0) {
        if (madvise(page, size, MADV_GUARD_INSTALL) == 0 && (known > 0 || guarded(page, size))) {
            if (known == 0)
                __atomic_store_n(&markers, 1, __ATOMIC_RELAXED);
            return 0;
        }
        __atomic_store_n(&markers, -1, __ATOMIC_RELAXED);
    }
    return mprotect(page, size, PROT_NONE) == 0 ? 0 : -errno;
}

void fin_host_release(void *p, size_t size) { madvise(p, size, MADV_DONTNEED); }

// Of those that sleep or wake here; one that did nothing would make a sleeper spin, or leave it asleep.
static void futex(uint32_t *word, int op, uint32_t value) {
    if (syscall(SYS_futex, word, op, value, NULL, NULL, 0) < 0 && fin_host_denied(-errno))
        fin_host_die_of("a thread cannot sleep or be woken, as futex(2) fails", errno, "");
}

// A wake that comes before the sleep is not lost. (models/sleep.pml)
void fin_host_sleep(struct fin_runtime *rt) {
    if (__atomic_exchange_n(&rt->futex, 0, __ATOMIC_ACQUIRE) == 0)
        futex(&rt->futex, FUTEX_WAIT_PRIVATE, 0);
    __atomic_store_n(&rt->futex, 0, __ATOMIC_RELAXED);
}

void fin_host_wake(struct fin_runtime *rt) {
    if (__atomic_exchange_n(&rt->futex, 1, __ATOMIC_RELEASE) == 0)
        futex(&rt->futex, FUTEX_WAKE_PRIVATE, 1);
}

__attribute__((weak)) void *__cxa_get_globals(void);

void **fin_host_exception_state(void) { return __cxa_get_globals ? __cxa_get_globals() : NULL; }

extern void *__libc_stack_end __attribute__((weak)); // glibc's

int fin_host_on_fork(void (*in_child)(void)) {
    static bool watched;
    return fin_watch_forks(&watched, in_child);
}

// Where the stack that `frame` is on begins: the main thread's is known, in another's a libc keeps the thread.
static char *end_above(char *frame) {
    char *main = &__libc_stack_end ? __libc_stack_end : frame, *thread = (char *)(uintptr_t)pthread_self();
    if (thread > frame && (thread < main || main < frame))
        return thread;
    return main > frame ? main : frame;
}

void fin_host_os_stack(void **lo, size_t *size) {
    pthread_attr_t attr;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, lo, size);
        pthread_attr_destroy(&attr);
    } else { // no descriptor is left for /proc/self/maps, or no memory: what surely belongs to it
        const size_t below = 256 * 1024;
        char *frame = __builtin_frame_address(0);
        *lo = frame - below;
        *size = (size_t)(end_above(frame) - (char *)*lo);
    }
}

_Noreturn void fin_host_die(const char *text) {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE); // which would be another end than abort(3)
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    // Somebody may hold the lock of stderr.
    struct iovec v[] = {{(void *)"fin: ", 5}, {(void *)text, strlen(text)}, {(void *)"\n", 1}};
    if (writev(STDERR_FILENO, v, 3) < 0)
        abort();
    abort();
}

_Noreturn void fin_host_die_of(const char *what, int error, const char *then) {
    char text[400];
    snprintf(text, sizeof text, "%s: %s%s", what, strerror(error), then);
    fin_host_die(text);
}

// A thread that ends gives its runtime back. The main thread's stays until the process ends.
static pthread_key_t end_key;
static int key_error;
static enum { NOT_YET, AT_IT, BEGUN } process;

static void thread_ends(void *arg) {
    struct fin_runtime *rt = arg;
    if (!fin_link_empty(&rt->suspended) || !fin_link_empty(&rt->queue))
        fin_crash_thread_ended_inside(rt->tid);
    else if (fin_chan_thread_ends)
        fin_chan_thread_ends(rt);
    fin_runtime_end(rt);
}

static void begin_process(void) {
    key_error = pthread_key_create(&end_key, thread_ends);
    fin_crash_begin();
    fin_held_begin();
    fin_stuck_begin();
    fin_stats_begin();
    fin_trace_begin_process();
}

// The child of a fork has not the thread that may have been at it, and begins anew. (Not with all libcs' pthread_once.)
static void forget_parent(void) {
    if (process == AT_IT)
        process = NOT_YET;
    if (fin_self) // alerts go to it
        fin_rt(fin_self)->tid = (int32_t)syscall(SYS_gettid);
    fin_stats_forget_parent();
}

static int begin_once(void) {
    static bool watched;
    int error = fin_watch_forks(&watched, forget_parent), now = NOT_YET;
    if (error)
        return error;
    while (!__atomic_compare_exchange_n((int *)&process, &now, AT_IT, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        if (now == BEGUN)
            return -key_error;
        now = NOT_YET;
        fin_host_nap();
    }
    begin_process();
    __atomic_store_n((int *)&process, BEGUN, __ATOMIC_RELEASE);
    return -key_error;
}

int fin_host_thread_begin(struct fin_runtime *rt) {
    int error = begin_once();
    if (error)
        return error;
    __atomic_store_n(&rt->tid, (int32_t)syscall(SYS_gettid), __ATOMIC_RELAXED); // held.c may look
    __atomic_store_n(&rt->futex, 0, __ATOMIC_RELAXED); // who wakes the thread that had it may be late
    fin_crash_thread_begin();
    return -pthread_setspecific(end_key, rt);
}

void fin_host_thread_end(struct fin_runtime *rt) {
    pthread_setspecific(end_key, NULL);
    fin_stuck_thread_ends(rt);
    fin_trace_thread_ends();
    __atomic_store_n(&rt->tid, 0, __ATOMIC_RELAXED);
    fin_crash_thread_end();
}
