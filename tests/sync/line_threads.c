// SPDX-License-Identifier: BSD-2-Clause
// The waiters of idle threads stand in one line for each object, with cancellable waits and with _nc ones: each is woken, in
// the order in which they came, whatever thread they are of. A cancel takes the first kind out of the middle of the line,
// with -ECANCELED and nothing acquired, and leaves the second kind where it is.
#include <errno.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

enum { THREADS = 3, WAITERS = 12, IDLE_US = 300 };
enum kind { MUTEX, SEM, EVENT, QUEUE, COND, KINDS };

static struct fin_mutex m = FIN_MUTEX_INIT;
static struct fin_cond c = FIN_COND_INIT;
static struct fin_sem s = FIN_SEM_INIT(0);
static struct fin_event e = FIN_EVENT_INIT;
static struct fin_queue q = FIN_QUEUE_INIT;
static struct fin_queue_entry front, entries[WAITERS];

static enum kind kind;
static bool nc;
static struct fin_event go[WAITERS], in_line[WAITERS], asked[WAITERS], told[WAITERS], served;
static int results[WAITERS], order[WAITERS], ran;

static bool is_asked_to_cancel(int i) { return i % 4 == 1; }
static bool is_cancelled(int i) { return is_asked_to_cancel(i) && !nc; }

static int waits(int i) {
    switch (kind) {
    case MUTEX:
        return fin_mutex_lock(&m);
    case SEM:
        return fin_sem_wait(&s);
    case EVENT:
        return fin_event_await(&e, (uint64_t)i + 1);
    case QUEUE:
        return fin_queue_await_turn(&q, &entries[i]);
    default:
        return fin_cond_wait(&c, &m);
    }
}

static void waits_nc(int i) {
    switch (kind) {
    case MUTEX:
        fin_mutex_lock_nc(&m);
        break;
    case SEM:
        fin_sem_wait_nc(&s);
        break;
    case EVENT:
        fin_event_await_nc(&e, (uint64_t)i + 1);
        break;
    case QUEUE:
        fin_queue_await_turn_nc(&q, &entries[i]);
        break;
    default:
        fin_cond_wait_nc(&c, &m);
        break;
    }
}

static void waiter(int i) {
    if (kind == QUEUE)
        fin_queue_enter(&q, &entries[i]);
    if (kind == COND)
        fin_mutex_lock_nc(&m);
    if (nc)
        results[i] = (waits_nc(i), 0);
    else
        results[i] = waits(i);
    if (kind == COND || (kind == MUTEX && results[i] == 0))
        CHECK_EQ(fin_mutex_trylock(&m), -EBUSY); // this one has it
    if (results[i] == 0)
        order[ran++] = i;
    if (kind == COND)
        fin_mutex_unlock(&m);
    if (results[i] == 0)
        fin_event_advance(&served, 1);
}

static void cancellable(int i) {
    fin_finish_as(block) {
        fin_async { waiter(i); };
        fin_async {
            fin_event_await_nc(&asked[i], 1);
            if (is_asked_to_cancel(i))
                fin_cancel_as(block);
        };
    }
    fin_event_advance(&told[i], 1);
}

static void thread(void *arg) {
    fin_finish {
        for (int i = (int)(intptr_t)arg; i < WAITERS; i += THREADS) {
            fin_event_await_nc(&go[i], 1);
            fin_async { cancellable(i); };
            fin_event_advance(&in_line[i], 1); // it waits, since this goes on
        }
    }
}

static void one_more(int i) {
    switch (kind) {
    case MUTEX:
        fin_mutex_unlock(&m);
        break; // from another thread than the one that has it
    case SEM:
        CHECK_EQ(fin_sem_post(&s), 0);
        break;
    case EVENT:
        fin_event_advance(&e, (uint64_t)i + 1 - fin_event_read(&e));
        break;
    case QUEUE:
        CHECK_EQ(fin_queue_leave(&q, i == 0 ? &front : &entries[order[ran - 1]]), 1);
        break;
    default:
        fin_cond_signal(&c);
        break;
    }
}

// Those who were cancelled leave the queue early, the last one of them first.
static void leave_early(int i) {
    if (kind == QUEUE)
        CHECK_EQ(fin_queue_leave(&q, &entries[i]), 0);
}

static void begin(void) {
    ran = 0;
    fin_event_init(&e);
    fin_event_init(&served);
    for (int i = 0; i < WAITERS; i++) {
        fin_event_init(&go[i]);
        fin_event_init(&in_line[i]);
        fin_event_init(&asked[i]);
        fin_event_init(&told[i]);
        results[i] = 1;
    }
    if (kind == MUTEX)
        CHECK_EQ(fin_mutex_trylock(&m), 0);
    if (kind == QUEUE)
        fin_queue_enter(&q, &front);
}

static void line_up(void) {
    for (int i = 0; i < WAITERS; i++) {
        fin_event_advance(&go[i], 1);
        fin_event_await_nc(&in_line[i], 1);
    }
    usleep(IDLE_US); // nobody has anything to do any more
    for (int i = WAITERS - 1; i >= 0; i--) {
        if (!is_asked_to_cancel(i))
            continue;
        fin_event_advance(&asked[i], 1);
        if (nc)
            continue;
        fin_event_await_nc(&told[i], 1);
        CHECK_EQ(results[i], -ECANCELED);
        leave_early(i);
    }
    usleep(IDLE_US);
    CHECK_EQ(ran, 0);
}

static void serve(void) {
    uint64_t n = 0;
    for (int i = 0; i < WAITERS; i++) {
        if (is_cancelled(i))
            continue;
        // a queue's turns count those directly behind who have left
        if (kind == QUEUE && !nc && n > 0 && is_cancelled(order[ran - 1] + 1))
            CHECK_EQ(fin_queue_leave(&q, &entries[order[ran - 1]]), 2);
        else
            one_more(i);
        fin_event_await_nc(&served, ++n);
        CHECK_EQ(ran, (int)n); // one at a time
        CHECK_EQ(order[n - 1], i);
        fin_event_advance(&asked[i], 1);
        fin_event_await_nc(&told[i], 1);
    }
}

// Nothing is left over.
static void end(void) {
    if (kind == MUTEX)
        fin_mutex_unlock(&m);
    if (kind == QUEUE)
        CHECK_EQ(fin_queue_leave(&q, &entries[order[ran - 1]]), 1);
    CHECK(q.first == NULL && q.last == NULL);
    CHECK_EQ(fin_sem_trywait(&s), -EAGAIN);
    CHECK_EQ(fin_mutex_trylock(&m), 0);
    fin_mutex_unlock(&m);
    CHECK(!m.waiters.first && !c.waiters.first && !s.waiters.first && !e.waiters.first);
}

static void one(void) {
    struct fin_thread_handle t[THREADS];
    begin();
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(fin_thread_start(&t[i], thread, (void *)(intptr_t)i), 0);
    line_up();
    serve();
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(fin_thread_join(&t[i]), 0);
    end();
}

int main(void) {
    for (int with_nc = 0; with_nc < 2; with_nc++) {
        nc = with_nc;
        for (int k = 0; k < KINDS; k++) {
            kind = (enum kind)k;
            one();
        }
    }
    return 0;
}
