// SPDX-License-Identifier: BSD-2-Clause
// For programs by chance: the ways in which an operation is attempted, with a stack or without, calmly or in blocks that are
// cancelled, by time, by others, or before it begins.
#ifndef FIN_TESTS_IO_ATTEMPTS_H
#define FIN_TESTS_IO_ATTEMPTS_H

#include <stdatomic.h>
#include <sys/uio.h>

#include <fin/on.h>
#include <fin/signals.h>
#include <fin/sync.h>
#include <fin/thread.h>

#include "net.h"

enum { THREADS = 3, BURSTS = 5, MOST = 8192, ACTS = 1024 };

static unsigned seed, thread_count; // of the round
static __thread unsigned own_seed;
static _Atomic bool over; // who serves may be cancelled from here on

static unsigned chance(unsigned n) { return next_random(&own_seed) % n; }

// One operation, and all that it needs.
struct act {
    const char *name;
    unsigned how;
    ssize_t (*run)(struct act *a);
    int (*run_on)(struct act *a); // NULL: only with a stack
    void (*heard)(struct act *a); // or NULL: called as soon as it is told, before others are
    ssize_t result;
    size_t moved;
    bool serves;  // it may wait till the end of the round
    bool ends;    // and is cancelled, as nothing is to come any more
    bool shared;  // its object may be in use, or used up: which it may say in a cancelled block, too
    bool counts;  // it sets `moved` itself
    bool cancels; // the attempt may be cancelled
    _Atomic bool waits;
    bool was_cancelled;
    bool forgotten; // its registered number, before it began
    int fd, status;
    size_t size;
    uint64_t value, due;
    void *object, *piece;
    struct iovec v[2];
    struct msghdr m;
    struct fin_signal_info info;
    union {
        struct fin_on on;
        struct fin_more_on more_on;
        struct fin_buffers_on buffers_on;
    };
    _Alignas(8) char control[CMSG_SPACE(sizeof(int))];
    unsigned char data[MOST];
};

// For the report of a round that hangs.
static struct act *_Atomic acts[ACTS];
static _Atomic int act_count;

static struct act *new_act(const char *name, void *object) {
    struct act *a = calloc(1, sizeof *a);
    int i = act_count++;
    a->name = name;
    a->object = object;
    if (i < ACTS)
        acts[i] = a;
    return a;
}

static void free_acts(void) {
    for (int i = 0; i < act_count && i < ACTS; i++)
        free(acts[i]);
    if (act_count > ACTS)
        fprintf(stderr, "%d acts\n", act_count);
    act_count = 0;
}

static void show(const struct act *a) {
    fprintf(stderr, "%s, %u: %s result %zd, %zu of %zu moved, fd %d%s%s\n", a->name, a->how,
            a->waits ? "waits," : "is told,", a->result, a->moved, a->size, a->fd, a->serves ? ", serves" : "",
            a->cancels ? ", may be cancelled" : "");
}

static _Noreturn void fails(const char *file, int line, const char *what, const struct act *a) {
    fprintf(stderr, "%s:%d: not so: %s; FIN_SEED=%u FIN_ROUNDS=1, %s\n", file, line, what, seed, fin_io_backend());
    if (a)
        show(a);
    abort();
}

#define HOLDS_OF(a, condition) ((condition) ? (void)0 : fails(__FILE__, __LINE__, #condition, a))
#define HOLDS(condition) HOLDS_OF(NULL, condition)

// ---- attempts

static void told(struct act *a, ssize_t result) {
    a->result = result;
    a->was_cancelled = fin_cancelled();
    if (!a->counts)
        a->moved = result > 0 ? (size_t)result : 0;
    a->waits = false;
    if (a->heard)
        a->heard(a);
}

static void runs(void *act) {
    struct act *a = act;
    told(a, a->run(a));
}

static inline void ended(void *state, int result) { // not all have such forms
    told(*(struct act **)state, result);
    fin_cont_end();
}
#define REST ended, &a, sizeof a

static void begins(void *state, int unused) {
    struct act *a = *(struct act **)state;
    (void)unused;
    a->result = a->run_on(a);
    HOLDS_OF(a, !"refused");
}

static void spin(void) {
    for (unsigned volatile n = chance(2000); n; n--) {
    }
}

static void pause_here(void) {
    unsigned n = chance(8);
    if (n == 0)
        fin_sleep(1 + chance(200) * FIN_US);
    else if (n < 3)
        spin();
    for (; n > 3; n--)
        fin_yield();
}

#define START(a)                                                                                                            \
    do {                                                                                                                    \
        (a)->waits = true;                                                                                                  \
        if ((a)->run_on && chance(2))                                                                                       \
            HOLDS_OF(a, fin_async_cont(begins, &(a), sizeof(a)) != NULL);                                                   \
        else                                                                                                                \
            fin_async_call(runs, a);                                                                                        \
    } while (0)

static uint64_t some_time(void) { return chance(4) ? chance(100) * FIN_US : chance(400) * FIN_US; }

static void attempt_calmly(struct act *a) {
    a->waits = true;
    if (!a->run_on || chance(2)) {
        runs(a);
        return;
    }
    fin_finish {
        START(a);
    }
}

static void attempt_within(struct act *a) {
    switch (chance(3)) {
    case 0:
        fin_timeout(some_time()) {
            START(a);
        }
        break;
    case 1:
        fin_deadline(fin_now() + some_time()) {
            fin_finish {
                START(a);
                pause_here();
            }
        }
        break;
    default:
        fin_timeout(some_time()) {
            fin_timeout(some_time()) {
                START(a);
                pause_here();
            }
        }
    }
}

static void attempt_cancelled(struct act *a) {
    switch (chance(4)) {
    case 0:
        fin_finish {
            fin_cancel();
            START(a);
        }
        HOLDS_OF(a, (a->result == -ECANCELED || (a->shared && a->result < 0)) && a->moved == 0);
        break;
    case 1:
        fin_finish_as(outer) {
            fin_finish {
                START(a);
                pause_here();
                fin_cancel_as(outer);
            }
        }
        break;
    default:
        fin_finish {
            START(a);
            pause_here();
            fin_cancel();
        }
    }
}

static void attempt_shielded(struct act *a) {
    fin_timeout(some_time()) {
        fin_finish_nc {
            START(a);
        }
    }
    HOLDS_OF(a, a->result != -ECANCELED);
}

// Returns whether it did anything, or failed.
static bool attempt(struct act *a) {
    a->cancels = chance(5) < 3;
    a->counts = a->forgotten = false;
    a->moved = 0;
    a->piece = NULL;
    if (!a->cancels)
        attempt_calmly(a);
    else if (!a->serves && chance(6) == 0)
        attempt_shielded(a);
    else if (chance(2))
        attempt_within(a);
    else
        attempt_cancelled(a);
    HOLDS_OF(a, !a->waits);
    if (a->result != -ECANCELED)
        return true;
    HOLDS_OF(a, a->was_cancelled && (a->cancels || a->ends || (a->serves && over)));
    return a->moved > 0;
}

// What a thread has for I/O from the first time on that it waits for some, or is woken by another: before descriptors are
// counted.
static void writes_late(void *fd) {
    CHECK_EQ(fin_sleep(10 * FIN_MS), 0);
    CHECK_EQ(write((int)(intptr_t)fd, "x", 1), 1);
    CHECK_EQ(fin_sleep(10 * FIN_MS), 0);
}
static inline void open_what_stays(void) {
    struct fin_thread_handle h;
    int fd[2];
    char c;
    CHECK_EQ(pipe(fd), 0);
    CHECK_EQ(fin_thread_start(&h, writes_late, (void *)(intptr_t)fd[1]), 0);
    CHECK_EQ(fin_read(fd[0], &c, 1), 1);
    fin_thread_join_nc(&h);
    close(fd[0]);
    close(fd[1]);
}

// The threads of a round: this one, which is number 0, and others.
static inline void on_all_threads(void (*fn)(void *)) {
    struct fin_thread_handle h[THREADS];
    fin_finish {
        for (unsigned i = 1; i < thread_count; i++)
            HOLDS(fin_thread_start(&h[i], fn, (void *)(intptr_t)i) == 0);
        fn(NULL);
        for (unsigned i = 1; i < thread_count; i++)
            fin_thread_join_nc(&h[i]);
    }
}

// Rounds of a seed each: FIN_SEED=n FIN_ROUNDS=n in the environment: others, and more than usual. After each as many
// descriptors are open as after the first. Returns how many rounds.
static inline unsigned run_rounds(unsigned usual, unsigned few, unsigned seconds, void (*one)(void), void (*hangs)(int)) {
    const char *first = getenv("FIN_SEED"), *many = getenv("FIN_ROUNDS");
    unsigned rounds = many ? (unsigned)atoi(many) : getenv("FIN_FEW") || on_valgrind() ? few : usual;
    int descriptors = 0;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, hangs);
    seed = first ? (unsigned)atoi(first) : 1;
    open_what_stays();
    for (unsigned round = 0; round < rounds; round++, seed++) {
        alarm(seconds);
        one();
        if (round == 0)
            descriptors = settled_descriptors();
        else if (!ON_TSAN)
            until_open_descriptors(descriptors);
    }
    return rounds;
}

#endif
