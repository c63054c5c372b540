// SPDX-License-Identifier: BSD-2-Clause
// With FIN_STUCK_MS a process that nothing can wake is reported, with who waits for whom; one that a timer, I/O, the pool or
// a thread without AWEs will wake is not. Each case is a process of its own; all run at a time.
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <fin.h>

#include "deadlock.h"
#include "stuck.h"

#define SOME_LOOKS_NS (300 * FIN_MS)

static struct fin_event event = FIN_EVENT_INIT;
static struct fin_awe *slot;

static void two_mutexes(void) {
    fin_finish {
        fin_async_call(a_then_b, NULL);
        fin_async_call(b_then_a, NULL);
    }
}

static void suspends(void *unused) {
    (void)unused;
    fin_suspend(&slot);
}

static void nobody_schedules(void) {
    fin_finish {
        fin_async_call(suspends, NULL);
    }
}

// Not all are shown, and that is said.
static void nobody_schedules_many(void) {
    fin_finish {
        for (int i = 0; i < 300; i++)
            fin_async_call(suspends, NULL);
        fin_suspend(&slot);
    }
}

// In a frame around the AWE a variable holds it, and the word behind that a pointer, as in a waiter of an object.
static void notes(void *words) { ((void **)words)[2] = slot; }
static __attribute__((noinline)) void suspends_below(void **words) { fin_suspend_then(&slot, notes, words); }
static void suspends_below_its_pointer(void *unused) {
    void *words[16] = {NULL, NULL, NULL, words};
    (void)unused;
    suspends_below(words);
    CHECK(words[2] == NULL);
}

static void pointer_to_itself(void) {
    fin_finish {
        fin_async_call(suspends_below_its_pointer, NULL);
    }
}

static struct fin_event ready = FIN_EVENT_INIT;

static void in_a_thread(void *unused) {
    fin_mutex_lock_nc(&a);
    fin_event_advance(&ready, 1);
    fin_event_await_nc(&ready, 2);
    (void)unused;
    fin_mutex_lock_nc(&b);
}

static void other_thread(void *unused) {
    fin_finish {
        fin_async_call(in_a_thread, unused);
    }
}

static void b_then_a_of_thread(void *unused) {
    (void)unused;
    fin_mutex_lock_nc(&b);
    fin_event_advance(&ready, 1);
    fin_event_await_nc(&ready, 2);
    fin_mutex_lock_nc(&a);
}

static void two_threads(void) {
    struct fin_thread_handle t;
    CHECK_EQ(fin_thread_start(&t, other_thread, NULL), 0);
    fin_finish {
        fin_async_call(b_then_a_of_thread, NULL);
    }
}

static void waits_for_the_block_around(void *unused) {
    (void)unused;
    fin_finish {
        fin_async_call(suspends, NULL);
    }
}

static void inner_finish(void) {
    fin_finish {
        fin_async_call(waits_for_the_block_around, NULL);
    }
}

static void locks_a(void *unused) {
    (void)unused;
    fin_mutex_lock_nc(&a);
}

static void an_owner_has_it(void) {
    fin_finish {
        fin_mutex_lock_nc(&a);
        fin_async_call(locks_a, NULL);
    }
}

static void has_it_at_the_end_of_its_block(void *unused) {
    (void)unused;
    an_owner_has_it();
}

static void an_async_that_is_an_owner_has_it(void) {
    fin_finish {
        fin_async_call(has_it_at_the_end_of_its_block, NULL);
    }
}

static void before_its_first_async(void) {
    fin_mutex_lock_nc(&a);
    fin_finish {
        fin_async_call(locks_a, NULL);
    }
}

// ---- without stacks

static void never(void *state, int result) {
    (void)state;
    (void)result;
    CHECK(false);
}

static struct fin_sync_on waits[3];

static void has_a_then_b(void *state, int result) {
    (void)state;
    CHECK_EQ(result, 0);
    fin_mutex_lock_nc(&a);
    fin_mutex_lock_nc(&b);
}

static void waits_for_a(void *state, int result) {
    (void)result;
    fin_mutex_lock_on(&a, &waits[0], never, state, 0);
}

static void holds_b_waits_for_a(void *unused) {
    fin_mutex_lock_nc(&b);
    fin_yield();
    fin_mutex_lock_nc(&a);
    (void)unused;
}

static void mutexes_without_stacks(void) {
    fin_finish {
        fin_async_cont(has_a_then_b, NULL, 0);
        fin_async_call(holds_b_waits_for_a, NULL);
        fin_yield();
        fin_async_cont(waits_for_a, NULL, 0);
    }
}

static void goes_on(void *state, int result) {
    (void)result;
    fin_block_on(never, state, 0);
}

static void many_alike(void) {
    fin_finish {
        for (int i = 0; i < 1000; i++)
            fin_async_cont(goes_on, NULL, 0);
    }
}

// Openers of blocks without stacks: one waits with a stack for who waits for its mutex, one without for another opener.
static struct fin_finish_on with_stack, outer, inner;

static void wants_a(void *state, int result) {
    (void)result;
    fin_mutex_lock_nc(&a);
    fin_block_on(never, state, 0);
}

static void closes_with_a(void *state, int result) {
    (void)state, (void)result;
    fin_mutex_lock_nc(&a);
    fin_finish_open(&with_stack);
    fin_async_cont_beside(wants_a, NULL, 0);
    fin_finish_close_wait(&with_stack);
}

static void is_in_both(void *state, int result) {
    (void)result;
    fin_finish_open(&inner);
    fin_block_on(never, state, 0);
}

static void closes(void *state, int result) {
    (void)result;
    fin_finish_open(&outer);
    fin_async_cont_beside(is_in_both, NULL, 0);
    fin_finish_close_on(&outer, never, state, 0);
}

static void blocks_without_stacks(void) {
    fin_finish {
        fin_async_cont(closes_with_a, NULL, 0);
        fin_async_cont(closes, NULL, 0);
    }
}

// Two wait with the same, each at the end of a block of its own.
static struct fin_finish_on blocks[2];

static void closes_one(void *state, int result) {
    struct fin_finish_on *f = *(struct fin_finish_on **)state;
    (void)result;
    fin_finish_open(f);
    fin_async_cont_beside(goes_on, NULL, 0);
    fin_finish_close_on(f, never, &f, sizeof f);
}

static void blocks_closed_alike(void) {
    fin_finish {
        for (int i = 0; i < 2; i++) {
            struct fin_finish_on *f = &blocks[i];
            fin_async_cont(closes_one, &f, sizeof f);
        }
    }
}

static struct fin_awe *waits_with_it;

static void is_given_a_stack(void *state, int result) {
    (void)result;
    waits_with_it = fin_awe_self();
    fin_block_on(never, state, 0);
}

static void hands_over(void *state, int result) {
    (void)state;
    (void)result;
    CHECK_EQ(fin_stack_handoff(waits_with_it), 0);
    fin_cont_end();
}

static void nobody_says_what_with(void) {
    fin_finish {
        fin_async_cont(is_given_a_stack, NULL, 0);
        fin_yield();
        fin_async_cont(hands_over, NULL, 0);
    }
}

static void waits_for_the_event(void *unused) {
    (void)unused;
    fin_event_await_nc(&event, 1);
}

static void sleeps_a_moment(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sleep(FIN_MS), 0);
}

static void after_one_that_expected(void) {
    struct fin_thread_handle t;
    fin_finish {} // this thread has a runtime from here on
    CHECK_EQ(fin_thread_start(&t, sleeps_a_moment, NULL), 0);
    fin_thread_join_nc(&t);
    CHECK_EQ(fin_thread_start(&t, waits_for_the_event, NULL), 0); // which has that one's runtime
    fin_thread_join_nc(&t);
}

// The thread that reaps it wakes nobody.
static void who_abandoned_a_child(void) {
    struct fin_process p;
    const char *const argv[] = {"true", NULL};
    CHECK_EQ(fin_spawn(&p, &(struct fin_spawn){.path = "true", .argv = argv}), 0);
    CHECK_EQ(fin_abandon(&p), 0);
    waits_for_the_event(NULL);
}

// As a server may be whose descriptors are used up, which is when the report is wanted.
static void who_has_no_descriptors(void) {
    struct rlimit none;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &none), 0);
    none.rlim_cur = 0;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    waits_for_the_event(NULL);
}

// The only thread of the pool waits for a function that waits for a thread of the pool.
static void does_nothing(void *unused) { (void)unused; }

static void needs_another(void *unused) {
    (void)unused;
    fin_offload(does_nothing, NULL);
}

static void a_pool_too_small(void) {
    fin_offload_threads(1);
    fin_offload(needs_another, NULL);
}

static void a_pool_that_waits(void) { fin_offload(waits_for_the_event, NULL); }

// ---- those who are woken

static void a_timer(void) {
    fin_timeout(SOME_LOOKS_NS) {
        CHECK_EQ(fin_event_await(&event, 1), -ECANCELED);
    }
}

static void a_read(void) {
    int ends[2];
    char c;
    CHECK_EQ(pipe(ends), 0);
    if (fork() == 0) {
        nanosleep(&(struct timespec){.tv_nsec = SOME_LOOKS_NS}, NULL);
        _exit(write(ends[1], "x", 1) != 1);
    }
    CHECK_EQ(fin_read(ends[0], &c, 1), 1);
}

static void sleeps(void *unused) {
    (void)unused;
    nanosleep(&(struct timespec){.tv_nsec = SOME_LOOKS_NS}, NULL);
}

static void the_pool(void) { CHECK_EQ(fin_offload(sleeps, NULL), 0); }

static void needs_another_that_sleeps(void *unused) { CHECK_EQ(fin_offload(sleeps, unused), 0); }

static void the_pool_of_the_pool(void) { CHECK_EQ(fin_offload(needs_another_that_sleeps, NULL), 0); }

static void *advances(void *unused) {
    sleeps(unused);
    fin_event_advance(&event, 1);
    return NULL;
}

static void a_foreign_thread(void) {
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, advances, NULL), 0);
    fin_event_await_nc(&event, 1);
    CHECK_EQ(pthread_join(t, NULL), 0);
}

static void starts_a_thread(void *out) { CHECK_EQ(pthread_create(out, NULL, advances, NULL), 0); }

// As a library may that blocks. It is no thread of ours, though it has the name of the one that made it.
static void a_foreign_thread_of_the_pools(void) {
    pthread_t t;
    CHECK_EQ(fin_offload(starts_a_thread, &t), 0);
    fin_event_await_nc(&event, 1);
    CHECK_EQ(pthread_join(t, NULL), 0);
}

static void leaves_a_lock(void *mutex) {
    fin_finish {
        fin_async { fin_mutex_lock_nc(mutex); };
    }
}

static void a_lock_left(void) {
    struct fin_thread_handle t;
    CHECK_EQ(fin_thread_start(&t, leaves_a_lock, &a), 0);
    fin_thread_join_nc(&t);
    CHECK_EQ(fin_thread_start(&t, leaves_a_lock, &b), 0); // which has that one's runtime
    fin_thread_join_nc(&t);
}

static void a_lock_at_exit(void) {
    leaves_a_lock(&a);
    fin_mutex_lock_nc(&b); // outside any async
    exit(0);
}

static void ends_with_a_lock(void *state, int result) {
    (void)state;
    (void)result;
    fin_mutex_lock_nc(&a);
    fin_cont_end();
}

static void a_lock_left_without_a_stack(void) {
    fin_finish {
        fin_async_cont(ends_with_a_lock, NULL, 0);
    }
    exit(0);
}

static struct scenario scenarios[] = {
    {.run = two_mutexes,
     .said = {"nothing can wake process", "AWE \"left\", entry a_then_b", "for the mutex", "held by 3",
              "a cycle: 1 waits for 3 waits for 1\n"}},
    {.run = an_owner_has_it,
     .said = {"nothing can wake process", "entry locks_a", "held by 2", "at the end of a finish block, for 1\n",
              "a cycle: 1 waits for 2 waits for 1\n"}},
    {.run = an_async_that_is_an_owner_has_it,
     .said = {"nothing can wake process", "entry locks_a", "held by 2", "at the end of a finish block, for 1\n",
              "a cycle: 1 waits for 2 waits for 1\n"}},
    {.run = nobody_schedules_many, .said = {"nothing can wake", "fin:   256: AWE", "and more\n"}},
    {.run = nobody_schedules,
     .said = {"nothing can wake process", "entry suspends", "for fin_schedule, in suspends",
              "at the end of a finish block, for 1\n"}},
    {.run = pointer_to_itself,
     .said = {"nothing can wake process", "for fin_schedule, in suspends_below",
              "at the end of a finish block, for 1\n"}},
    {.run = two_threads, .said = {"nothing can wake process", "for the mutex", "held by", "a cycle:"}},
    {.run = inner_finish,
     .said = {"nothing can wake process", "for fin_schedule", "at the end of a finish block, for 1\n",
              "at the end of a finish block, for 2\n"}},
    {.run = mutexes_without_stacks,
     .said = {"nothing can wake process", "continuation has_a_then_b", "continuation never, ", "for the mutex", "a cycle:"}},
    {.run = before_its_first_async,
     .said = {"nothing can wake process", "entry locks_a", "held by 2", "at the end of a finish block, for 1\n",
              "a cycle: 1 waits for 2 waits for 1\n"}},
    {.run = blocks_without_stacks,
     .said = {"continuation closes_with_a, thread", "at the end of a finish block, for 3\n",
              "at the end of a finish block, for 1, 4\n", "at the end of a finish block, for 5\n",
              "a cycle: 1 waits for 3 waits for 1\n"}},
    {.run = blocks_closed_alike,
     .said = {"at the end of a finish block, for 4\n", "at the end of a finish block, for 1, 3\n",
              "at the end of a finish block, for 5\n"}},
    {.run = nobody_says_what_with,
     .said = {"nothing can wake process", "AWE \"unnamed\", thread", "for fin_cont_set, after fin_stack_handoff\n"}},
    {.run = many_alike,
     .said = {"nothing can wake process", "continuation never", "waits for fin_schedule; and 999 more alike\n",
              "at the end of a finish block, for 1\n"}},
    {.run = a_lock_left,
     .said = {" ends, and 1 mutex that its AWEs locked is still locked\n",
              " ends, and 1 mutex that its AWEs locked is still locked\n"}},
    {.run = a_lock_at_exit, .said = {" calls exit, and 2 mutexes that its AWEs locked are still locked\n"}},
    {.run = a_lock_left_without_a_stack, .said = {" calls exit, and 1 mutex that its AWEs locked is still locked\n"}},
    {.run = after_one_that_expected, .said = {"nothing can wake process", "waits for the event count"}},
    {.run = who_abandoned_a_child, .said = {"nothing can wake process", "waits for the event count"}},
    {.run = who_has_no_descriptors, .said = {"nothing can wake process", "waits for the event count"}},
    {.run = a_pool_too_small,
     .said = {"nothing can wake process", "wait for functions on the pool, all of whose threads (1)", "for an operation"}},
    {.run = a_pool_that_waits,
     .said = {"nothing can wake process", "wait for functions on the pool, all of whose threads (1)",
              "waits for the event count"}},
    {.run = a_timer},
    {.run = a_read},
    {.run = the_pool},
    {.run = the_pool_of_the_pool},
    {.run = a_foreign_thread},
    {.run = a_foreign_thread_of_the_pools},
};

int main(void) {
    run_scenarios(scenarios, sizeof scenarios / sizeof *scenarios);
    return 0;
}
