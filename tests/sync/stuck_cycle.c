// SPDX-License-Identifier: BSD-2-Clause
// With FIN_STUCK_MS AWEs that wait for one another are reported also where the process expects something from outside: a
// signal, a client, data, a timer, another thread. Those that wait for one who waits for these are not.
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <fin.h>
#include <fin/signals.h>

#include "deadlock.h"
#include "stuck.h"

#define SOME_LOOKS_NS (300 * FIN_MS)

static struct fin_mutex c = FIN_MUTEX_INIT, d = FIN_MUTEX_INIT;

static void c_then_d(void *unused) {
    (void)unused;
    take_both(&c, &d);
}

static void d_then_c(void *unused) {
    (void)unused;
    take_both(&d, &c);
}

static void wants_a(void *unused) {
    (void)unused;
    fin_yield();
    fin_yield();
    fin_mutex_lock_nc(&a);
}

static void beside(void (*other)(void *), int count) {
    fin_finish {
        for (int i = 0; i < count; i++)
            fin_async_call(other, NULL);
        fin_async_call(a_then_b, NULL);
        fin_async_call(b_then_a, NULL);
        fin_async_call(wants_a, NULL);
    }
}

static void awaits_signal(void *unused) {
    struct fin_signals s;
    struct fin_signal_info info;
    sigset_t set;
    (void)unused;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    CHECK_EQ(fin_signals_open(&s, &set), 0);
    fin_signals_next(&s, &info);
}

static void awaits_client(void *unused) {
    struct sockaddr_un any = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)unused;
    CHECK_EQ(bind(listener, (struct sockaddr *)&any, sizeof any.sun_family), 0);
    CHECK_EQ(listen(listener, 1), 0);
    fin_accept(listener, NULL, NULL);
}

static void awaits_data(void *unused) {
    static int pair[2];
    char byte;
    (void)unused;
    if (pair[1] == 0)
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    fin_recv(pair[0], &byte, 1, 0);
}

// It wakes between the looks.
static void awaits_time(void *unused) {
    (void)unused;
    for (;;)
        fin_sleep(7 * FIN_MS);
}

static void *sleeps(void *unused) {
    for (;;)
        nanosleep(&(struct timespec){.tv_sec = 1000}, NULL);
    return unused;
}

static struct fin_cond changed = FIN_COND_INIT;

static void waits_with_a(void *unused) {
    (void)unused;
    fin_mutex_lock_nc(&b);
    fin_mutex_lock_nc(&a);
    fin_cond_wait_nc(&changed, &a);
}

static void signals_with_a(void *unused) {
    (void)unused;
    fin_mutex_lock_nc(&a);
    fin_cond_signal(&changed);
    fin_mutex_lock_nc(&b);
}

// It has been signalled, and is to have its mutex again before it goes on.
static void back_from_condition(void) {
    fin_finish {
        fin_async_call(awaits_client, NULL);
        fin_async_call(waits_with_a, NULL);
        fin_async_call(signals_with_a, NULL);
    }
}

static struct fin_event never = FIN_EVENT_INIT;

static void awaits_event(void *unused) {
    (void)unused;
    fin_event_await_nc(&never, 1);
}

// Of each it has to be seen what it waits for.
static void with_many_waiters(void) {
    fin_finish {
        fin_async_call(awaits_client, NULL);
        beside(awaits_event, FIN_SANITIZED ? 500 : 5000);
    }
}

static void waits_for_a(void *unused) {
    (void)unused;
    fin_mutex_lock_nc(&a);
}

// Each of its asyncs is in a cycle with it.
static void owner_has_a(void *unused) {
    (void)unused;
    fin_mutex_lock_nc(&a);
    fin_finish {
        for (int i = 0; i < 3; i++)
            fin_async_call(waits_for_a, NULL);
    }
}

// Of two that have no AWE in common both are told.
static void two_cycles(void) {
    fin_finish {
        fin_async_call(awaits_client, NULL);
        fin_async_call(owner_has_a, NULL);
        fin_async_call(c_then_d, NULL);
        fin_async_call(d_then_c, NULL);
    }
}

static struct fin_mutex *other;

static void other_then_a(void *unused) {
    (void)unused;
    take_both(other, &a);
}

static void a_then_other(void *unused) {
    (void)unused;
    take_both(&a, other);
}

// When a cycle has come to its end, one of AWEs that lie and wait where those did is another. It takes turns until both
// have been there for enough looks.
static void one_after_the_other(void) {
    for (uint64_t turn = 1;; turn++) {
        other = turn % 2 ? &b : &c;
        fin_timeout(turn * 2 * SOME_LOOKS_NS) {
            fin_async_call(other_then_a, NULL);
            fin_async_call(a_then_other, NULL);
        }
        fin_sleep(turn * SOME_LOOKS_NS);
    }
}

static void with_signals(void) { beside(awaits_signal, 1); }
static void with_listener(void) { beside(awaits_client, 1); }
static void with_many_peers(void) { beside(awaits_data, 1000); }
static void with_timer(void) { beside(awaits_time, 1); }
static void with_other_thread(void) {
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, sleeps, NULL), 0);
    beside(awaits_signal, 0);
}

static void holder_reads(void) {
    static int ends[2];
    static char byte;
    CHECK_EQ(pipe(ends), 0);
    if (fork() == 0) {
        nanosleep(&(struct timespec){.tv_nsec = SOME_LOOKS_NS}, NULL);
        _exit(write(ends[1], "x", 1) != 1);
    }
    fin_finish {
        fin_async {
            fin_mutex_lock_nc(&a);
            CHECK_EQ(fin_read(ends[0], &byte, 1), 1);
            fin_mutex_unlock(&a);
        };
        fin_async {
            fin_mutex_lock_nc(&a);
            fin_mutex_unlock(&a);
        };
    }
}

#define CYCLE                                                                                                               \
    {"wait for one another", "entry a_then_b", "for the mutex", "entry wants_a, thread", "a cycle: "}

static struct scenario scenarios[] = {
    {.run = with_signals, .said = CYCLE},    {.run = with_listener, .said = CYCLE}, {.run = with_many_peers, .said = CYCLE},
    {.run = with_timer, .said = CYCLE},      {.run = with_other_thread, .said = CYCLE},
    {.run = with_many_waiters, .said = CYCLE},
    {.run = back_from_condition, .said = {"wait for one another", "for the mutex", "for the mutex", "a cycle: "}},
    {.run = two_cycles, .said = {"entry owner_has_a", "a cycle: ", "wait for one another", "entry c_then_d", "a cycle: "},
     .cycles = 2},
    {.run = one_after_the_other, .said = {"entry other_then_a", "a cycle: ", "entry other_then_a", "a cycle: "}},
    {.run = holder_reads},
};

int main(void) {
    run_scenarios(scenarios, sizeof scenarios / sizeof *scenarios);
    return 0;
}
