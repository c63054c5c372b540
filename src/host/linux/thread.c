// SPDX-License-Identifier: BSD-2-Clause
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "core/host.h"
#include "host/linux/crash.h"
#include "own_thread.h"
#include "sync/host.h"

struct start {
    void (*fn)(void *), (*ended)(void *);
    void *arg;
    bool again;
};

static pthread_key_t key_plus_one; // 0: there is none yet

static pthread_key_t key(void) { return __atomic_load_n(&key_plus_one, __ATOMIC_ACQUIRE) - 1; }

// The first round of destructors ends the runtime, and comes after C++'s thread-local variables; so wait for the second.
static void destroy(void *p) {
    struct start *s = p;
    s->again = !s->again;
    if (s->again && pthread_setspecific(key(), s) == 0)
        return;
    struct start end = *s;
    free(s);
    end.ended(end.arg);
}

// Where all keys are in use, one may be free later. No lock, which another thread might have when this one forks.
static int make_key(void) {
    pthread_key_t k, none = 0;
    if (__atomic_load_n(&key_plus_one, __ATOMIC_ACQUIRE))
        return 0;
    int error = pthread_key_create(&k, destroy);
    if (error == 0 && !__atomic_compare_exchange_n(&key_plus_one, &none, k + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        pthread_key_delete(k);
    return error;
}

static void *main_of(void *p) {
    struct start *s = p;
    bool kept = pthread_setspecific(key(), s) == 0;
    s->fn(s->arg);
    if (!kept) {
        s->again = true;
        destroy(s);
    }
    return NULL;
}

int fin_host_thread_start(uintptr_t *thread, void (*fn)(void *), void (*ended)(void *), void *arg) {
    int error = make_key();
    struct start *s = error ? NULL : malloc(sizeof *s);
    if (!s)
        return error ? -error : -ENOMEM;
    *s = (struct start){.fn = fn, .ended = ended, .arg = arg};
    pthread_t t;
    error = pthread_create(&t, NULL, main_of, s);
    if (error) {
        free(s);
        return -error;
    }
    *thread = (uintptr_t)t;
    return 0;
}

void fin_host_thread_reap(uintptr_t thread) { pthread_join((pthread_t)thread, NULL); }

static unsigned own_threads, of_pool;

unsigned fin_own_threads(void) { return __atomic_load_n(&own_threads, __ATOMIC_RELAXED); }
unsigned fin_own_threads_of_pool(void) { return __atomic_load_n(&of_pool, __ATOMIC_RELAXED); }

static void count(const struct fin_own_thread *t, unsigned more) {
    __atomic_add_fetch(&own_threads, more, __ATOMIC_RELAXED);
    __atomic_add_fetch(&of_pool, t->of_pool ? more : 0, __ATOMIC_RELAXED);
}

__thread void (*fin_own_thread_calls)(void *);

static void *own_main(void *p) {
    const struct fin_own_thread *t = p;
    pthread_setname_np(pthread_self(), t->name);
    if (t->of_pool)
        fin_crash_run(t->run);
    else
        t->run();
    count(t, -1u);
    return NULL;
}

int fin_own_thread_start(const struct fin_own_thread *t) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t blocked, before;
    pthread_t thread;
    pthread_attr_t stack;
    size_t size;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_attr_init(&stack);
    if (t->of_pool && pthread_attr_getstacksize(&stack, &size) == 0)
        pthread_attr_setstacksize(&stack, size + FIN_CRASH_ROOM);
    count(t, 1);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int error = pthread_create(&thread, &stack, own_main, (void *)(uintptr_t)t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&stack);
    if (error)
        count(t, -1u);
    else
        pthread_detach(thread);
    return -error;
}

void fin_own_cond_init(pthread_cond_t *c) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(c, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void fin_host_give_way(void) { sched_yield(); }

void fin_host_nap(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

uint64_t fin_host_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}
