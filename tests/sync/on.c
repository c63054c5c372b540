// SPDX-License-Identifier: BSD-2-Clause
// Waiters with stacks and with continuations stand in one line; each wait ends once, with what it waited for or -ECANCELED.
#include <string.h>

#include <fin.h>

#include "check.h"

enum { WAITERS = 6 };

static struct fin_sync_on wait[WAITERS];
static struct fin_mutex m = FIN_MUTEX_INIT;
static struct fin_cond c = FIN_COND_INIT;
static struct fin_sem s = FIN_SEM_INIT(0);
static struct fin_event e = FIN_EVENT_INIT;
static struct fin_queue q = FIN_QUEUE_INIT;
static struct fin_queue_entry entry[WAITERS + 1];

static void logs(void *p, int result) {
    LOG("%d:%d ", *(int *)p, result);
    fin_cont_end();
}

static void unlocks(void *p, int result) {
    LOG("%d:%d ", *(int *)p, result);
    CHECK_EQ(fin_mutex_trylock(&m), -EBUSY);
    if (result == 0)
        fin_mutex_unlock(&m);
    fin_cont_end();
}

static void unlocks_in_any_case(void *p, int result) {
    LOG("%d:%d ", *(int *)p, result);
    CHECK_EQ(fin_mutex_trylock(&m), -EBUSY);
    fin_mutex_unlock(&m);
    fin_cont_end();
}

static void leaves(void *p, int result) {
    int i = *(int *)p;
    LOG("%d:%d ", i, result);
    fin_queue_leave(&q, &entry[i]);
    fin_cont_end();
}

// What AWE i does: even ones with a stack.
static void with_stack(int kind, int i) {
    int r = 0;
    switch (kind) {
    case 0:
        r = fin_mutex_lock(&m);
        break;
    case 1:
        r = fin_sem_wait(&s);
        break;
    case 2:
        r = fin_event_await(&e, 1);
        break;
    case 3:
        r = fin_queue_await_turn(&q, &entry[i]);
        break;
    case 4:
        fin_mutex_lock_nc(&m);
        r = fin_cond_wait(&c, &m);
        break;
    }
    LOG("%d:%d ", i, r);
    if (kind == 3)
        fin_queue_leave(&q, &entry[i]);
    else if (kind == 4 || (kind == 0 && r == 0))
        fin_mutex_unlock(&m);
}

static void with_continuation(int kind, int i) {
    switch (kind) {
    case 0:
        fin_mutex_lock_on(&m, &wait[i], unlocks, &i, sizeof i);
        break;
    case 1:
        fin_sem_wait_on(&s, &wait[i], logs, &i, sizeof i);
        break;
    case 2:
        fin_event_await_on(&e, 1, &wait[i], logs, &i, sizeof i);
        break;
    case 3:
        fin_queue_await_turn_on(&q, &entry[i], &wait[i], leaves, &i, sizeof i);
        break;
    case 4:
        fin_mutex_lock_nc(&m);
        fin_cond_wait_on(&c, &m, &wait[i], unlocks_in_any_case, &i, sizeof i);
        break;
    }
    CHECK(false);
}

static int kind;
static void waits(void *p) {
    int i = (int)(intptr_t)p;
    if (i % 2)
        with_continuation(kind, i);
    with_stack(kind, i);
}

static void prepare(int k) {
    kind = k;
    check_log[0] = 0;
    fin_event_init(&e);
    if (k == 0)
        CHECK_EQ(fin_mutex_trylock(&m), 0);
    if (k == 3) {
        fin_queue_enter(&q, &entry[WAITERS]);
        for (int i = 0; i < WAITERS; i++)
            fin_queue_enter(&q, &entry[i]);
    }
}

static void wake_one(int k) {
    switch (k) {
    case 0:
        fin_mutex_unlock(&m);
        break;
    case 1:
        fin_sem_post(&s);
        break;
    case 2:
        fin_event_advance(&e, 1);
        break;
    case 3:
        CHECK(fin_queue_leave(&q, &entry[WAITERS]) > 0);
        break;
    case 4:
        fin_cond_signal(&c);
        break;
    }
}

static void all_in_one_line(int k) {
    prepare(k);
    fin_finish {
        for (intptr_t i = 0; i < WAITERS; i++)
            fin_async_call(waits, (void *)i);
        CHECK_LOG("");
        for (int i = 0; i < (k == 1 || k == 4 ? WAITERS : 1); i++)
            wake_one(k);
    }
    CHECK_LOG("0:0 1:0 2:0 3:0 4:0 5:0 ");
}

static void cancelled(int k) {
    prepare(k);
    fin_finish {
        for (intptr_t i = 0; i < WAITERS; i++)
            fin_async_call(waits, (void *)i);
        if (k == 1 || k == 4) {
            wake_one(k);
            wake_one(k);
        }
        fin_cancel();
    }
    for (int i = 0; i < WAITERS; i++) {
        char one[32];
        snprintf(one, sizeof one, "%d:%d ", i, i < 2 && (k == 1 || k == 4) ? 0 : -ECANCELED);
        CHECK(strstr(check_log, one));
    }
    CHECK_EQ(strlen(check_log), (k == 1 || k == 4) ? 2 * strlen("0:0 ") + 4 * strlen("0:-125 ") : 6 * strlen("0:-125 "));
    if (k == 3)
        fin_queue_leave(&q, &entry[WAITERS]);
    if (k == 0)
        fin_mutex_unlock(&m);
    CHECK_EQ(fin_mutex_trylock(&m), 0);
    fin_mutex_unlock(&m);
    CHECK_EQ(fin_sem_trywait(&s), -EAGAIN);
    CHECK(!m.waiters.first && !c.waiters.first && !s.waiters.first && !e.waiters.first && !q.first);
}

// A block that is cancelled already: nothing is acquired, though it is there. The shielded twin acquires it.
static void tries(void *p) {
    int i = (int)(intptr_t)p;
    if (i == 0)
        fin_sem_wait_on(&s, &wait[0], logs, &i, sizeof i);
    fin_sem_wait_on_nc(&s, &wait[1], logs, &i, sizeof i);
}

static void after_a_cancel(void) {
    check_log[0] = 0;
    fin_sem_post(&s);
    fin_finish {
        fin_cancel();
        fin_async_call(tries, (void *)0);
        fin_async_call(tries, (void *)1);
    }
    CHECK_LOG("0:-125 1:0 ");
}

// Steps that find nothing to wait for run on: the stack does not grow, however many they are.
static long steps;
static void again(void *p, int result) {
    CHECK_EQ(result, 0);
    if (++steps == 100000)
        fin_cont_end();
    fin_sem_post(&s);
    fin_sem_wait_on(&s, &wait[0], again, p, 0);
}

// A mutex taken with a continuation is kept over waits.
static void holds_it(void *p, int result);
static void lets_go(void *p, int result) {
    CHECK_EQ(result, 0);
    CHECK_EQ(fin_mutex_trylock(&m), -EBUSY);
    fin_mutex_unlock(&m);
    (void)p;
    fin_cont_end();
}
static void holds_it(void *p, int result) {
    CHECK_EQ(result, 0);
    fin_yield_on(lets_go, p, 0);
}
static void keeps(void *p, int result) {
    CHECK_EQ(result, 0);
    fin_mutex_lock_on(&m, &wait[0], holds_it, p, 0);
}

static void thread_body(void *arg) { fin_sem_wait_nc(arg); }

static struct fin_thread_handle thread;
static void joined(void *p, int result) {
    CHECK_EQ(result, 0);
    fin_thread_join_nc(&thread);
    logs(p, result);
}
static void joins(void *p) { fin_thread_ended_on(&thread, &wait[0], joined, p, sizeof(int)); }

int main(void) {
    for (int k = 0; k <= 4; k++) {
        all_in_one_line(k);
        cancelled(k);
    }
    after_a_cancel();
    fin_finish {
        fin_async_cont(again, NULL, 0);
    }
    CHECK_EQ(steps, 100000);
    fin_finish {
        fin_async_cont(keeps, NULL, 0);
    }
    int one = 1;
    check_log[0] = 0;
    CHECK_EQ(fin_thread_start(&thread, thread_body, &s), 0);
    fin_finish {
        fin_async_call(joins, &one);
        CHECK_LOG("");
        fin_sem_post(&s);
    }
    CHECK_LOG("1:0 ");
    return 0;
}
