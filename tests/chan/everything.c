// SPDX-License-Identifier: BSD-2-Clause
// Two threads, in each AWEs with stacks and without that wait, by chance, in every way there is, for one another and for the
// other thread's; hand their stacks to one another; and are cancelled in the midst of it, again and again. In the end what
// came is what was sent, and what was taken has been given back.
#include <fcntl.h>
#include <unistd.h>

#include "chan.h"

enum { EXPLICIT = 14, STACKFUL = 5, WORKERS = EXPLICIT + STACKFUL, PERMITS = 3, LATE = 3, SIZE = 8 };

struct worker {
    int thread, cancelled;
    unsigned seed;
    union {
        struct fin_on io;
        struct fin_chan_on chan;
        struct fin_rpc_on rpc;
        struct fin_sync_on sync;
    } on;
    struct fin_queue_entry entry;
    uint64_t out, in;
    char bytes[16];
};
static struct worker workers[2][WORKERS];

static struct fin_sem sem = FIN_SEM_INIT(PERMITS);
static struct fin_mutex mutex = FIN_MUTEX_INIT, of_cond = FIN_MUTEX_INIT;
static struct fin_cond cond = FIN_COND_INIT;
static struct fin_event event = FIN_EVENT_INIT;
static struct fin_queue queue = FIN_QUEUE_INIT;
static struct fin_chan *ends[2], *rpc_ends[2];
static struct fin_rpc *caller, *server;
static int pipes[2], permits = PERMITS, inside, first;
static uint64_t sent[2], sums_sent[2], came[2], sums_came[2]; // by the sender's thread
static uint64_t bytes_written, bytes_read, waits_ended;
static __thread struct fin_awe *parked[EXPLICIT];
static __thread unsigned parked_count;

#define WORKER(state) (*(struct worker **)(state))
#define STATE &w, sizeof w
#define ADD(counter, n) __atomic_fetch_add(&(counter), n, __ATOMIC_SEQ_CST)

static unsigned chance(struct worker *w, unsigned of) { return next_random(&w->seed) % of; }

static void wait_again(struct worker *w);

// In a cancelled block each wait says so: some more are tried.
static void go_on(struct worker *w, int result) {
    ADD(waits_ended, 1);
    if (result == -ECANCELED && ++w->cancelled == LATE)
        fin_cont_end();
    CHECK(result >= 0 || result == -ECANCELED);
    wait_again(w);
}
static void plain(void *state, int result) { go_on(WORKER(state), result); }

// ---- sync objects, some of them kept over a wait

static void give_permit(void) {
    ADD(permits, 1);
    CHECK_EQ(fin_sem_post(&sem), 0);
}
static void kept_permit(void *state, int result) {
    give_permit();
    go_on(WORKER(state), result);
}
static void has_permit(void *state, int result) {
    struct worker *w = WORKER(state);
    if (result == 0) {
        CHECK(ADD(permits, -1) > 0);
        if (chance(w, 2))
            fin_yield_on(kept_permit, STATE);
        give_permit();
    }
    go_on(w, result);
}
static void permit(struct worker *w) { fin_sem_wait_on(&sem, &w->on.sync, has_permit, STATE); }

static void unlock(void) {
    CHECK(inside);
    inside = 0;
    fin_mutex_unlock(&mutex);
}
static void kept_mutex(void *state, int result) {
    unlock();
    go_on(WORKER(state), result);
}
static void has_mutex(void *state, int result) {
    struct worker *w = WORKER(state);
    if (result == 0) {
        CHECK(!inside);
        inside = 1;
        if (chance(w, 2))
            fin_yield_on(kept_mutex, STATE);
        unlock();
    }
    go_on(w, result);
}
static void lock(struct worker *w) { fin_mutex_lock_on(&mutex, &w->on.sync, has_mutex, STATE); }

static void signalled(void *state, int result) {
    fin_mutex_unlock(&of_cond);
    go_on(WORKER(state), result);
}
static void may_wait(void *state, int result) {
    struct worker *w = WORKER(state);
    if (result != 0)
        go_on(w, result);
    fin_cond_wait_on(&cond, &of_cond, &w->on.sync, signalled, STATE);
}
static void condition(struct worker *w) { fin_mutex_lock_on(&of_cond, &w->on.sync, may_wait, STATE); }

static void count(struct worker *w) {
    uint64_t until = __atomic_load_n(&waits_ended, __ATOMIC_RELAXED);
    fin_event_await_on(&event, until, &w->on.sync, plain, STATE);
}

static void first_is(int result) {
    if (result == 0) {
        CHECK_EQ(ADD(first, 1), 0);
        ADD(first, -1);
    }
}
static void has_turn(void *state, int result) {
    struct worker *w = WORKER(state);
    first_is(result);
    fin_queue_leave(&queue, &w->entry);
    go_on(w, result);
}
static void turn(struct worker *w) {
    fin_queue_enter(&queue, &w->entry);
    fin_queue_await_turn_on(&queue, &w->entry, &w->on.sync, has_turn, STATE);
}

// ---- messages, calls, I/O

static void count_sent(struct worker *w, int result) {
    if (result == 0) {
        ADD(sent[w->thread], 1);
        ADD(sums_sent[w->thread], w->out);
    }
}
static void count_came(struct worker *w, ssize_t n) {
    if (n >= 0) {
        CHECK_EQ(n, SIZE);
        ADD(came[!w->thread], 1);
        ADD(sums_came[!w->thread], w->in);
    }
}
static void check_answer(const struct worker *w, ssize_t n) {
    if (n >= 0)
        CHECK(n == SIZE && w->in == ~w->out);
}
static void has_sent(void *state, int result) {
    count_sent(WORKER(state), result);
    go_on(WORKER(state), result);
}
static void has_received(void *state, int n) {
    count_came(WORKER(state), n);
    go_on(WORKER(state), n);
}
static void has_answer(void *state, int n) {
    check_answer(WORKER(state), n);
    go_on(WORKER(state), n);
}
static void has_read(void *state, int n) {
    ADD(bytes_read, n > 0 ? (uint64_t)n : 0);
    go_on(WORKER(state), n);
}
static void has_written(void *state, int n) {
    ADD(bytes_written, n > 0 ? (uint64_t)n : 0);
    go_on(WORKER(state), n);
}

static void send_one(struct worker *w) {
    w->out = chance(w, 1000);
    fin_chan_send_on(ends[w->thread], &w->out, SIZE, &w->on.chan, has_sent, STATE);
}
static void receive_one(struct worker *w) {
    fin_chan_recv_on(ends[w->thread], &w->in, SIZE, &w->on.chan, has_received, STATE);
}
static void sleep_a_little(struct worker *w) { fin_sleep_on(&w->on.io, chance(w, 20000), plain, STATE); }
static void call(struct worker *w) {
    if (w->thread != 0)
        sleep_a_little(w);
    w->out = chance(w, 1000);
    fin_rpc_call_on(caller, &w->out, SIZE, &w->in, SIZE, &w->on.rpc, has_answer, STATE);
}
static void read_some(struct worker *w) {
    fin_read_on(&w->on.io, pipes[0], w->bytes, 1 + chance(w, sizeof w->bytes), has_read, STATE);
}
static void write_some(struct worker *w) {
    fin_write_on(&w->on.io, pipes[1], w->bytes, 1 + chance(w, sizeof w->bytes), has_written, STATE);
}

// ---- those that wait for nothing are on a list: others run them, give them stacks, or hand theirs to them

static void leave_list(const struct fin_awe *a) {
    for (unsigned i = 0; i < parked_count; i++)
        if (parked[i] == a)
            parked[i] = parked[--parked_count];
}
static void resumed(void *state, int result) {
    leave_list(fin_awe_self());
    go_on(WORKER(state), result);
}
static void join_list(struct fin_awe *a, void *unused) {
    (void)unused;
    parked[parked_count++] = a;
}
static void park(struct worker *w) { fin_block_on_then(resumed, STATE, join_list, NULL); }
static void yield(struct worker *w) { fin_yield_on(plain, STATE); }

static struct fin_awe **one_parked(struct worker *w) { return parked_count ? &parked[chance(w, parked_count)] : NULL; }

static bool refused(int error) { return error == -EINVAL || error == -EALREADY; }

// It takes the other's place on the list, while that one is run.
static void hand_over(struct worker *w) {
    struct fin_awe **at = one_parked(w), *self = fin_awe_self(), *to;
    if (!at)
        return yield(w);
    to = *at;
    int way = (int)chance(w, 4), error;
    if (way == 0)
        error = fin_thread_handoff(resumed, STATE, to);
    else if (way == 1)
        error = fin_thread_handoff_if(resumed, resumed, STATE, to);
    else if (way == 2)
        error = fin_stack_handoff(to);
    else
        *at = self, error = fin_switch_context(resumed, STATE, NULL, to); // does not return
    *at = error ? to : self;
    if (error) {
        CHECK(refused(error));
        return yield(w);
    }
    CHECK(fin_awe_self() == to);
    if (way == 2)
        CHECK_EQ(fin_cont_set(self, resumed, STATE), 0);
    fin_call_continuation(fin_cont_of(to), 0);
}

static void begin_there(void *state, int result) {
    (void)state;
    fin_call_continuation(fin_cont_of(fin_awe_self()), result);
}
static void attach(struct worker *w) {
    struct fin_awe **at = one_parked(w);
    if (!at)
        return yield(w);
    struct fin_stack *stack = fin_stack_alloc();
    CHECK(stack);
    int error = fin_stack_attach(*at, stack, chance(w, 2) ? begin_there : NULL);
    CHECK(error == 0 || error == -EBUSY || refused(error));
    if (error == 0 && chance(w, 2)) {
        CHECK(fin_stack_detach(*at) == stack);
        error = 1;
    }
    if (error)
        CHECK_EQ(fin_stack_free(stack), 0);
    yield(w);
}

static void few_turns(void *state, int result) {
    int left = *(int *)state - 1;
    (void)result;
    if (left <= 0)
        fin_cont_end();
    fin_yield_on(few_turns, &left, sizeof left);
}
static void start_beside(struct worker *w) {
    int turns = (int)chance(w, 5);
    CHECK(fin_async_cont_beside(few_turns, &turns, sizeof turns));
    yield(w);
}

// None of them returns: where it would have been refused, this does.
static void wait_again(struct worker *w) {
    static void (*const ways[])(struct worker *) = {permit,      lock,  condition,      count,     turn,        send_one,
                                                    receive_one, call,  sleep_a_little, read_some, write_some,  park,
                                                    park,        yield, hand_over,      attach,    start_beside};
    struct fin_awe **at = one_parked(w);
    fin_cond_signal(&cond);
    fin_event_advance(&event, 1);
    if (at && chance(w, 4) == 0 && fin_schedule(*at) == 0)
        *at = parked[--parked_count];
    ways[chance(w, sizeof ways / sizeof ways[0])](w);
    CHECK(!"refused");
}

// ---- the same with a stack

static ssize_t wait_with_stack(struct worker *w) {
    ssize_t r;
    switch (chance(w, 7)) {
    case 0:
        if ((r = fin_sem_wait(&sem)) == 0) {
            CHECK(ADD(permits, -1) > 0);
            fin_yield();
            give_permit();
        }
        return r;
    case 1:
        if ((r = fin_mutex_lock(&mutex)) == 0) {
            CHECK(!inside);
            inside = 1;
            fin_yield();
            unlock();
        }
        return r;
    case 2:
        w->out = chance(w, 1000);
        count_sent(w, (int)(r = fin_chan_send(ends[w->thread], &w->out, SIZE)));
        return r;
    case 3:
        count_came(w, r = fin_chan_recv(ends[w->thread], &w->in, SIZE));
        return r;
    case 4:
        r = fin_write(pipes[1], w->bytes, sizeof w->bytes);
        ADD(bytes_written, r > 0 ? (uint64_t)r : 0);
        return r;
    case 5:
        r = fin_read(pipes[0], w->bytes, sizeof w->bytes);
        ADD(bytes_read, r > 0 ? (uint64_t)r : 0);
        return r;
    default:
        fin_queue_enter(&queue, &w->entry);
        first_is((int)(r = fin_queue_await_turn(&queue, &w->entry)));
        fin_queue_leave(&queue, &w->entry);
        return r;
    }
}

static void with_stack(void *arg) {
    ssize_t r;
    do {
        r = wait_with_stack(arg);
        CHECK(r >= 0 || r == -ECANCELED);
    } while (r != -ECANCELED);
}

static void rounds(int thread) {
    unsigned seed = 77 + (unsigned)thread;
    for (unsigned n = few(2000); n; n--) {
        fin_finish_as(all) {
            for (int i = 0; i < WORKERS; i++) {
                struct worker *w = &workers[thread][i];
                *w = (struct worker){.thread = thread, .seed = next_random(&seed) * 7919};
                if (i < EXPLICIT)
                    CHECK(fin_async_cont(plain, &w, sizeof w));
                else
                    fin_async_call(with_stack, w);
            }
            pause_a_while(&seed, 60, 3);
            fin_cancel_as(all);
        }
        CHECK_EQ(parked_count, 0);
    }
}

static void answer(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *unused) {
    uint64_t v = ~*(uint64_t *)request;
    (void)unused;
    CHECK_EQ(size, SIZE);
    if (v % 3 == 0)
        fin_yield();
    int error = fin_rpc_reply(r, id, &v, SIZE);
    CHECK(error == 0 || error == -EPIPE);
}
static struct fin_rpc_on serving;
static void served(void *unused, int result) {
    (void)unused;
    CHECK_EQ(result, -ESHUTDOWN);
    fin_cont_end();
}
static void serve(void *unused, int result) {
    (void)unused;
    CHECK_EQ(result, 0);
    CHECK(!fin_rpc_serve_on(server, answer, NULL, &serving, served, NULL, 0));
}

static void other(void *unused) {
    (void)unused;
    fin_finish {
        CHECK(fin_async_cont(serve, NULL, 0));
        rounds(1);
    }
}

static void nothing_is_lost(void) {
    char rest[4096];
    ssize_t n;
    for (int i = 0; i < 2; i++) {
        struct worker w = {.thread = !i};
        while ((n = fin_chan_try_recv(ends[!i], &w.in, SIZE)) != -EAGAIN)
            count_came(&w, n);
        CHECK(came[i] == sent[i] && sums_came[i] == sums_sent[i] && sent[i] > 0);
    }
    CHECK_EQ(fcntl(pipes[0], F_SETFL, O_NONBLOCK), 0);
    while ((n = read(pipes[0], rest, sizeof rest)) > 0)
        bytes_read += (uint64_t)n;
    CHECK(bytes_read == bytes_written && bytes_read > 0);
    for (int i = 0; i < PERMITS; i++)
        CHECK_EQ(fin_sem_trywait(&sem), 0);
    CHECK_EQ(fin_sem_trywait(&sem), -EAGAIN);
    CHECK(!mutex.locked && !of_cond.locked);
}

int main(void) {
    struct fin_chan_options small = {4096, 0};
    struct fin_thread_handle h;
    CHECK_EQ(fin_chan_pair(&ends[0], &ends[1], &small), 0);
    CHECK_EQ(fin_chan_pair(&rpc_ends[0], &rpc_ends[1], &small), 0);
    CHECK_EQ(fin_rpc_open(&caller, rpc_ends[0], 0), 0);
    CHECK_EQ(fin_rpc_open(&server, rpc_ends[1], 0), 0);
    CHECK_EQ(pipe(pipes), 0);
    CHECK_EQ(fin_thread_start(&h, other, NULL), 0);
    rounds(0);
    CHECK_EQ(fin_rpc_close(caller), 0);
    fin_thread_join_nc(&h);
    CHECK_EQ(fin_rpc_close(server), 0);
    nothing_is_lost();
    CHECK_EQ(fin_chan_close(ends[0]), 0);
    CHECK_EQ(fin_chan_close(ends[1]), 0);
    return 0;
}
