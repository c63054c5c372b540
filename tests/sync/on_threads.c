// SPDX-License-Identifier: BSD-2-Clause
// Waiters with and without stacks of several threads stand in the same lines, and are cancelled at any moment: nobody is in
// where another is, nothing that was acquired is lost, and none waits for ever.
#include <string.h>

#include <fin.h>

#include "check.h"

enum { THREADS = 3, CLIENTS = 8, KINDS = 5 };

struct client {
    struct fin_sync_on on;
    struct fin_queue_entry entry;
    uint64_t ticket;
    unsigned seed, rounds;
    int kind;
};

static struct fin_mutex mutex = FIN_MUTEX_INIT, guard = FIN_MUTEX_INIT;
static struct fin_cond cond = FIN_COND_INIT;
static struct fin_sem sem = FIN_SEM_INIT(2);
static struct fin_event event = FIN_EVENT_INIT;
static struct fin_seq seq = FIN_SEQ_INIT;
static struct fin_queue queue = FIN_QUEUE_INIT;
static int tokens = 2, inside[KINDS];
static const int most[KINDS] = {1, 2, 2, 1, 1};
static unsigned acquired, cancels;

static unsigned next_random(struct client *c) {
    c->seed = c->seed * 1664525u + 1013904223u;
    return c->seed >> 8;
}

// The client has what it waited for.
static void use(struct client *c) {
    CHECK(__atomic_add_fetch(&inside[c->kind], 1, __ATOMIC_SEQ_CST) <= most[c->kind]);
    __atomic_add_fetch(&acquired, 1, __ATOMIC_RELAXED);
    if (next_random(c) % 4 == 0)
        fin_yield();
    __atomic_sub_fetch(&inside[c->kind], 1, __ATOMIC_SEQ_CST);
}

static void use_token(struct client *c) {
    tokens--;
    fin_mutex_unlock(&guard);
    use(c);
    fin_mutex_lock_nc(&guard);
    tokens++;
    fin_cond_signal(&cond);
    fin_mutex_unlock(&guard);
}

// After a wait. What has been promised to others is done also where it was cancelled.
static void waited(struct client *c, int result) {
    CHECK(result == 0 || result == -ECANCELED);
    if (result != 0)
        __atomic_add_fetch(&cancels, 1, __ATOMIC_RELAXED);
    switch (c->kind) {
    case 0:
        if (result == 0) {
            use(c);
            fin_mutex_unlock(&mutex);
        }
        break;
    case 1:
        if (result == 0) {
            use(c);
            fin_sem_post(&sem);
        }
        break;
    case 2: // has the guard
        if (result == 0)
            use_token(c);
        else
            fin_mutex_unlock(&guard);
        break;
    case 3:
        if (result != 0)
            fin_event_await_nc(&event, c->ticket);
        use(c);
        fin_event_advance(&event, 1);
        break;
    default:
        if (result != 0)
            fin_queue_await_turn_nc(&queue, &c->entry);
        use(c);
        fin_queue_leave(&queue, &c->entry);
    }
}

static int with_stack(struct client *c) {
    int r = 0;
    switch (c->kind) {
    case 0: return fin_mutex_lock(&mutex);
    case 1: return fin_sem_wait(&sem);
    case 2:
        while (tokens == 0 && r == 0)
            r = fin_cond_wait(&cond, &guard);
        return r;
    case 3: return fin_event_await(&event, c->ticket);
    default: return fin_queue_await_turn(&queue, &c->entry);
    }
}

static void step(void *state, int result);

static void without_stack(struct client *c) {
    switch (c->kind) {
    case 0: fin_mutex_lock_on(&mutex, &c->on, step, &c, sizeof c); break;
    case 1: fin_sem_wait_on(&sem, &c->on, step, &c, sizeof c); break;
    case 2: fin_cond_wait_on(&cond, &guard, &c->on, step, &c, sizeof c); break;
    case 3: fin_event_await_on(&event, c->ticket, &c->on, step, &c, sizeof c); break;
    default: fin_queue_await_turn_on(&queue, &c->entry, &c->on, step, &c, sizeof c);
    }
    CHECK(false);
}

// What precedes a wait of the kind.
static void begin(struct client *c) {
    c->kind = (int)(next_random(c) % KINDS);
    if (c->kind == 2)
        fin_mutex_lock_nc(&guard);
    else if (c->kind == 3)
        c->ticket = fin_seq_ticket(&seq);
    else if (c->kind == 4)
        fin_queue_enter(&queue, &c->entry);
}

static void run(struct client *c) {
    while (c->rounds--) {
        begin(c);
        if (next_random(c) % 2 && !(c->kind == 2 && tokens > 0))
            without_stack(c);
        waited(c, with_stack(c));
    }
    fin_cont_end();
}

static void step(void *state, int result) {
    struct client *c = *(struct client **)state;
    if (c->kind == 2 && result == 0 && tokens == 0)
        without_stack(c);
    waited(c, result);
    run(c);
}

static void first(void *state, int result) {
    (void)result;
    run(*(struct client **)state);
}

static unsigned groups = 20;

static void thread(void *number) {
    static struct client all[THREADS][CLIENTS];
    struct client *clients = all[(intptr_t)number];
    struct client me = {.seed = 77 + (unsigned)(intptr_t)number};
    for (unsigned g = 0; g < groups; g++)
        fin_finish_as(group) {
            for (int i = 0; i < CLIENTS; i++) {
                struct client *c = &clients[i];
                *c = (struct client){.seed = next_random(&me), .rounds = 20};
                CHECK(fin_async_cont(first, &c, sizeof c) != NULL);
            }
            for (unsigned n = next_random(&me) % 200; n; n--)
                fin_yield();
            if (g % 4)
                fin_cancel_as(group);
        }
}

int main(int argc, char **argv) {
    struct fin_thread_handle t[THREADS];
    if (argc > 1)
        groups = (unsigned)atoi(argv[1]);
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK_EQ(fin_thread_start(&t[i], thread, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        fin_thread_join_nc(&t[i]);
    CHECK_EQ(tokens, 2);
    CHECK_EQ(sem.value, 2);
    CHECK(!mutex.locked && !guard.locked && !queue.first);
    CHECK_EQ(fin_seq_read(&seq), fin_event_read(&event));
    CHECK(acquired > 0 && cancels > 0);
    return 0;
}
