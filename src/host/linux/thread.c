// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "core/host.h"
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

void fin_host_give_way(void) { sched_yield(); }

void fin_host_nap(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

uint64_t fin_host_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}
