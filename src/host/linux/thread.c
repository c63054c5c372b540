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
static pthread_once_t once = PTHREAD_ONCE_INIT;

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

static void make_key(void) { pthread_key_create(&key, destroy); }

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
    pthread_once(&once, make_key);
    struct start *s = malloc(sizeof *s);
    if (!s)
        return -ENOMEM;
    *s = (struct start){.fn = fn, .ended = ended, .arg = arg};
    pthread_t t;
    int error = pthread_create(&t, NULL, main_of, s);
    if (error) {
        free(s);
        return -error;
    }
    *thread = (uintptr_t)t;
    return 0;
}

void fin_host_thread_reap(uintptr_t thread) { pthread_join((pthread_t)thread, NULL); }

void fin_host_give_way(void) { sched_yield(); }
