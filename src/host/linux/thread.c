// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/host.h"
#include "sync/host.h"

struct start {
    void (*fn)(void *), (*ended)(void *);
    void *arg;
    bool again;
};

static pthread_key_t key;

// The first round of destructors ends the runtime, and comes after C++'s thread-local variables; so wait for the second.
static void destroy(void *p) {
    struct start *s = p;
    s->again = !s->again;
    if (s->again && pthread_setspecific(key, s) == 0)
        return;
    struct start end = *s;
    free(s);
    end.ended(end.arg);
}

// Where all keys are in use, one may be free later.
static int make_key(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool made;
    if (__atomic_load_n(&made, __ATOMIC_ACQUIRE))
        return 0;
    pthread_mutex_lock(&lock);
    int error = made ? 0 : pthread_key_create(&key, destroy);
    __atomic_store_n(&made, error == 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return error;
}

static void *main_of(void *p) {
    struct start *s = p;
    bool kept = pthread_setspecific(key, s) == 0;
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
