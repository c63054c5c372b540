// SPDX-License-Identifier: BSD-2-Clause
// A cancel on the waiter's thread against a wake from another: each wait has one outcome, and what was granted is not lost.
// Once with waiters that keep their stacks, once with such that wait with a continuation.
#include <errno.h>
#include <sched.h>
#include <string.h>

#include <fin.h>

#include "check.h"

enum { MOST = 12000 };

static uint64_t rounds;
static struct fin_sem s;
static struct fin_event go;
static struct fin_mutex m = FIN_MUTEX_INIT, lock = FIN_MUTEX_INIT;
static struct fin_cond c = FIN_COND_INIT;
static struct fin_event e;
static struct fin_queue q = FIN_QUEUE_INIT;
static struct fin_queue_entry front;
static uint64_t done;

// The other thread: in each round it wakes once, whatever kind of object it is about. `spins` shifts the two against each
// other, so that both outcomes come about on any machine.
static void (*wake)(void);
static void waker(void *arg) {
    (void)arg;
    for (uint64_t i = 1; i <= rounds; i++) {
        fin_event_await_nc(&go, i);
        for (volatile uint64_t spins = 0; spins < i % 50; spins++) {
        }
        wake();
        __atomic_store_n(&done, i, __ATOMIC_RELEASE);
    }
}

static int (*wait)(void);
static int result;
static void waiter(void *arg) {
    (void)arg;
    result = wait();
}

// Every third round ends with the wake alone and every third with the cancel alone, so that both kinds occur in any case.
static void race(int (*w)(void), void (*k)(void), void (*prepare)(void), void (*settle)(int)) {
    wait = w;
    wake = k;
    done = 0;
    fin_event_init(&go);
    int granted = 0;
    struct fin_thread_handle t;
    CHECK_EQ(fin_thread_start(&t, waker, NULL), 0);
    for (uint64_t i = 1; i <= rounds; i++) {
        result = 1;
        prepare();
        fin_finish {
            fin_async_call(waiter, NULL);
            if (i % 3 != 2)
                fin_event_advance(&go, 1);
            if (i % 3 != 1) {
                for (volatile uint64_t spins = 0; spins < i * (MOST / rounds) / 50; spins++) {
                }
                fin_cancel();
            }
        }
        CHECK(result == 0 || result == -ECANCELED);
        CHECK(i % 3 != 1 || result == 0);
        CHECK(i % 3 != 2 || result == -ECANCELED);
        if (i % 3 == 2)
            fin_event_advance(&go, 1);
        while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) != i)
            sched_yield();
        granted += result == 0;
        settle(result);
    }
    fin_thread_join_nc(&t);
    CHECK(granted >= (int)rounds / 3 && granted <= (int)(rounds - rounds / 3));
}

static void nothing(void) {}

static struct fin_sync_on on;
static void finished(void *p, int r) {
    CHECK_EQ(result, 1); // it runs once
    result = r;
    if (p && *(void (**)(int))p)
        (*(void (**)(int))p)(r);
    memset(&on, 0x5a, sizeof on); // the program's again
    fin_cont_end();
}
#define ON(then) &on, finished, &(void (*)(int)){then}, sizeof(void (*)(int))

static int sem_wait_on(void) { return fin_sem_wait_on(&s, ON(NULL)); }
static int sem_wait(void) { return fin_sem_wait(&s); }
static void sem_wake(void) { fin_sem_post(&s); }
static void sem_settle(int r) { CHECK_EQ(fin_sem_trywait(&s), r == 0 ? -EAGAIN : 0); }

static void mutex_prepare(void) { CHECK_EQ(fin_mutex_trylock(&lock), 0); }
static int mutex_wait_on(void) { return fin_mutex_lock_on(&lock, ON(NULL)); }
static int mutex_wait(void) { return fin_mutex_lock(&lock); }
static void mutex_wake(void) { fin_mutex_unlock(&lock); }
static void mutex_settle(int r) {
    CHECK_EQ(fin_mutex_trylock(&lock), r == 0 ? -EBUSY : 0);
    fin_mutex_unlock(&lock);
}

static int cond_wait(void) {
    fin_mutex_lock_nc(&m);
    int r = fin_cond_wait(&c, &m);
    CHECK_EQ(fin_mutex_trylock(&m), -EBUSY);
    fin_mutex_unlock(&m);
    return r;
}
static void cond_waited(int r) {
    (void)r;
    CHECK_EQ(fin_mutex_trylock(&m), -EBUSY);
    fin_mutex_unlock(&m);
}
static int cond_wait_on(void) {
    fin_mutex_lock_nc(&m);
    return fin_cond_wait_on(&c, &m, ON(cond_waited));
}
static void cond_wake(void) {
    fin_mutex_lock_nc(&m); // stands between the waiter and the mutex
    fin_cond_signal(&c);
    fin_mutex_unlock(&m);
}
static void cond_settle(int r) {
    (void)r;
    CHECK(!c.waiters.first && !m.waiters.first && !m.locked);
}

static int event_wait_on(void) { return fin_event_await_on(&e, fin_event_read(&e) + 1, ON(NULL)); }
static int event_wait(void) { return fin_event_await(&e, fin_event_read(&e) + 1); }
static void event_wake(void) { fin_event_advance(&e, 1); }
static void event_settle(int r) {
    (void)r;
    CHECK(!e.waiters.first);
}

static void queue_prepare(void) { fin_queue_enter(&q, &front); }
static int queue_wait(void) {
    struct fin_queue_entry mine;
    fin_queue_enter(&q, &mine);
    int r = fin_queue_await_turn(&q, &mine);
    int left = fin_queue_leave(&q, &mine);
    CHECK(r != 0 || left == 1);
    return r;
}
static struct fin_queue_entry queued;
static void queue_waited(int r) {
    int left = fin_queue_leave(&q, &queued);
    CHECK(r != 0 || left == 1);
}
static int queue_wait_on(void) {
    fin_queue_enter(&q, &queued);
    return fin_queue_await_turn_on(&q, &queued, ON(queue_waited));
}
static void queue_wake(void) {
    int left = fin_queue_leave(&q, &front);
    CHECK(left == 1 || left == 2);
}
static void queue_settle(int r) {
    (void)r;
    CHECK(!q.first && !q.waiters.first);
}

int main(void) {
    rounds = getenv("FIN_FEW") ? MOST / 4 : MOST;
    race(sem_wait, sem_wake, nothing, sem_settle);
    race(mutex_wait, mutex_wake, mutex_prepare, mutex_settle);
    race(cond_wait, cond_wake, nothing, cond_settle);
    race(event_wait, event_wake, nothing, event_settle);
    race(queue_wait, queue_wake, queue_prepare, queue_settle);
    race(sem_wait_on, sem_wake, nothing, sem_settle);
    race(mutex_wait_on, mutex_wake, mutex_prepare, mutex_settle);
    race(cond_wait_on, cond_wake, nothing, cond_settle);
    race(event_wait_on, event_wake, nothing, event_settle);
    race(queue_wait_on, queue_wake, queue_prepare, queue_settle);
    return 0;
}
