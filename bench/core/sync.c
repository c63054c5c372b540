// SPDX-License-Identifier: BSD-2-Clause
// Objects of fin/sync.h beside POSIX threads': where nobody waits, between AWEs of a thread, and between threads.
#include <pthread.h>
#include <semaphore.h>

#include <fin.h>

#include "rows.h"

// ---- nobody waits

static pthread_mutex_t posix_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct fin_mutex mutex = FIN_MUTEX_INIT;

double sync_posix_lock(long n) {
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++) {
        pthread_mutex_lock(&posix_mutex);
        pthread_mutex_unlock(&posix_mutex);
    }
    return bench_since(start, (double)n);
}

double sync_lock(long n) {
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++) {
        fin_mutex_lock_nc(&mutex);
        fin_mutex_unlock(&mutex);
    }
    return bench_since(start, (double)n);
}

double sync_posix_post(long n) {
    sem_t s;
    sem_init(&s, 0, 0);
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++) {
        sem_post(&s);
        sem_wait(&s);
    }
    return bench_since(start, (double)n);
}

double sync_post(long n) {
    struct fin_sem s = FIN_SEM_INIT(0);
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++) {
        fin_sem_post(&s);
        fin_sem_wait_nc(&s);
    }
    return bench_since(start, (double)n);
}

// ---- between two AWEs of a thread

static long left;

// At each unlock the other waits, and has the mutex then.
static void locks(void *unused) {
    (void)unused;
    while (left-- > 0) {
        fin_mutex_lock_nc(&mutex);
        fin_yield();
        fin_mutex_unlock(&mutex);
    }
}

double sync_lock_handed(long n) {
    left = n;
    uint64_t start = bench_ticks();
    fin_finish {
        fin_async_call(locks, NULL);
        fin_async_call(locks, NULL);
    }
    return bench_since(start, (double)n);
}

static struct fin_sem ping, pong;

static void answers(void *unused) {
    (void)unused;
    for (long i = 0; i < left; i++) {
        fin_sem_wait_nc(&ping);
        fin_sem_post(&pong);
    }
}

static double asks(long n) {
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++) {
        fin_sem_post(&ping);
        fin_sem_wait_nc(&pong);
    }
    return bench_since(start, (double)n);
}

double sync_round_trip(long n) {
    double result = 0;
    left = n;
    fin_sem_init(&ping, 0);
    fin_sem_init(&pong, 0);
    fin_finish {
        fin_async_call(answers, NULL);
        result = asks(n);
    }
    return result;
}

// ---- between two threads

double sync_round_trip_threads(long n) {
    struct fin_thread_handle other;
    left = n;
    fin_sem_init(&ping, 0);
    fin_sem_init(&pong, 0);
    BENCH_DID(fin_thread_start(&other, answers, NULL));
    double result = asks(n);
    fin_thread_join_nc(&other);
    return result;
}

static sem_t posix_ping, posix_pong;

static void *posix_answers(void *unused) {
    (void)unused;
    for (long i = 0; i < left; i++) {
        sem_wait(&posix_ping);
        sem_post(&posix_pong);
    }
    return NULL;
}

double sync_posix_round_trip_threads(long n) {
    pthread_t other;
    left = n;
    sem_init(&posix_ping, 0, 0);
    sem_init(&posix_pong, 0, 0);
    BENCH_DID(-pthread_create(&other, NULL, posix_answers, NULL));
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++) {
        sem_post(&posix_ping);
        sem_wait(&posix_pong);
    }
    double result = bench_since(start, (double)n);
    pthread_join(other, NULL);
    return result;
}

enum { INSIDE = 50, BETWEEN = 200 }; // additions with and without the mutex

static void adds(int times) {
    for (volatile int i = 0; i < times; i++) {
    }
}

static void locks_beside(void *unused) {
    (void)unused;
    for (long i = 0; i < left; i++) {
        fin_mutex_lock_nc(&mutex);
        adds(INSIDE);
        fin_mutex_unlock(&mutex);
        adds(BETWEEN);
    }
}

double sync_lock_threads(long n) {
    struct fin_thread_handle other;
    left = n / 2;
    uint64_t start = bench_ticks();
    BENCH_DID(fin_thread_start(&other, locks_beside, NULL));
    locks_beside(NULL);
    fin_thread_join_nc(&other);
    return bench_since(start, (double)n);
}

static void *posix_locks_beside(void *unused) {
    for (long i = 0; i < left; i++) {
        pthread_mutex_lock(&posix_mutex);
        adds(INSIDE);
        pthread_mutex_unlock(&posix_mutex);
        adds(BETWEEN);
    }
    return unused;
}

double sync_posix_lock_threads(long n) {
    pthread_t other;
    left = n / 2;
    uint64_t start = bench_ticks();
    BENCH_DID(-pthread_create(&other, NULL, posix_locks_beside, NULL));
    posix_locks_beside(NULL);
    pthread_join(other, NULL);
    return bench_since(start, (double)n);
}
