// SPDX-License-Identifier: BSD-2-Clause
// For outside_random.c: signals, and work for the pool.
#ifndef FIN_TESTS_IO_OUTSIDE_RANDOM_H
#define FIN_TESTS_IO_OUTSIDE_RANDOM_H

#include <pthread.h>
#include <sys/syscall.h>

#include <fin/process.h>
#include <fin/thread.h>

#include "attempts.h"

enum { SETS = 3, REAL_TIME = 3, NUMBERS = 1024 };

static bool calm[BURSTS]; // nothing is cancelled in that burst, and no timer runs
static unsigned burst_now;
static __thread int me;

static bool try_act(struct act *a) {
    if (!calm[burst_now])
        return attempt(a);
    a->cancels = a->was_cancelled = false;
    attempt_calmly(a);
    HOLDS_OF(a, !a->waits && (a->result != -ECANCELED || (a->serves && over)));
    return a->result != -ECANCELED;
}

// In a calm burst only turns.
static void rest_here(void) {
    if (!calm[burst_now])
        pause_here();
    for (unsigned n = chance(4); n && calm[burst_now]; n--)
        fin_yield();
}

// ---- signals: each real-time signal comes to each set that has it, once; of others one comes after the last was sent

static const int ordinary[] = {SIGUSR1, SIGUSR2, SIGCHLD};
enum { ORDINARY = sizeof ordinary / sizeof *ordinary };

struct set {
    struct fin_signals signals;
    bool has[ORDINARY], has_real_time[REAL_TIME];
    struct fin_event heard[ORDINARY], numbers; // of this burst
    _Atomic uint64_t posted;                   // numbers
    _Atomic unsigned char seen[REAL_TIME][NUMBERS];
};

static struct set sets[SETS];
static unsigned set_count;
static bool with_signals;
static _Atomic unsigned numbers[REAL_TIME];
static _Atomic unsigned by_default[ORDINARY]; // heard by the handlers that were there before
static __thread bool blocks_signals;

static void handled_before(int signal) {
    for (int i = 0; i < ORDINARY; i++)
        if (ordinary[i] == signal)
            by_default[i]++;
}

static void open_set(struct set *s) {
    sigset_t all;
    memset(s, 0, sizeof *s);
    sigemptyset(&all);
    for (int i = 0; i < ORDINARY; i++) {
        fin_event_init(&s->heard[i]);
        s->has[i] = chance(2);
        if (s->has[i])
            sigaddset(&all, ordinary[i]);
    }
    s->has_real_time[chance(REAL_TIME)] = true;
    for (int i = 0; i < REAL_TIME; i++) {
        s->has_real_time[i] = s->has_real_time[i] || chance(2);
        if (s->has_real_time[i])
            sigaddset(&all, SIGRTMIN + 1 + i);
    }
    fin_event_init(&s->numbers);
    HOLDS(fin_signals_open(&s->signals, &all) == 0);
}

static void close_set(struct set *s) {
    HOLDS(fin_signals_lost(&s->signals) == 0);
    fin_signals_close(&s->signals);
}

static bool in_a_set(int i) {
    bool any = false;
    for (unsigned k = 0; k < set_count; k++)
        any = any || sets[k].has[i];
    return any;
}

// Where no set has it, the handler does that was there before; where one has it, that does not.
static void looks_at_handlers(void) {
    for (int i = 0; i < 2; i++) {
        unsigned before = by_default[i];
        HOLDS(in_a_set(i) || (raise(ordinary[i]) == 0 && by_default[i] == before + 1));
    }
}

static ssize_t run_next(struct act *a) {
    struct set *s = a->object;
    if (a->how % 2 && !a->cancels && !a->serves)
        return fin_signals_next_nc(&s->signals, &a->info);
    return fin_signals_next(&s->signals, &a->info);
}

static int run_next_on(struct act *a) {
    struct set *s = a->object;
    return fin_signals_next_on(&s->signals, &a->info, &a->more_on, REST);
}

static void hear(struct set *s, const struct act *a) {
    int number = a->info.signal - SIGRTMIN - 1;
    if (number >= 0 && number < REAL_TIME) {
        HOLDS_OF(a, a->info.code == SI_QUEUE && a->info.pid == (int)getpid() && s->has_real_time[number]);
        HOLDS_OF(a, a->info.value < numbers[number] && s->seen[number][a->info.value]++ == 0);
        fin_event_advance(&s->numbers, 1);
        return;
    }
    for (int i = 0; i < ORDINARY; i++) {
        if (a->info.signal != ordinary[i])
            continue;
        HOLDS_OF(a, s->has[i]);
        fin_event_advance(&s->heard[i], 1);
        return;
    }
    HOLDS_OF(a, !"a signal of the set");
}

static void receives(void *set) {
    struct act *a = new_act("signal", set);
    a->run = run_next;
    a->run_on = run_next_on;
    a->serves = true;
    while (!over) {
        a->how = chance(2);
        if (try_act(a)) {
            HOLDS_OF(a, a->result == 0);
            hear(set, a);
        }
        if (chance(3) == 0)
            rest_here();
    }
}

// Until it has been told of some; others go on.
static void receives_some(void *set) {
    struct act *a = new_act("a signal", set);
    a->run = run_next;
    a->run_on = run_next_on;
    a->serves = true;
    for (unsigned n = chance(5); n && !over; n--) {
        rest_here();
        if (try_act(a)) {
            HOLDS_OF(a, a->result == 0);
            hear(set, a);
        }
    }
}

// pthread_sigqueue, which not each libc has.
static int queue_to_this_thread(int number, union sigval value) {
    siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE};
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value = value;
    return (int)syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), number, &info);
}

static void send_number(int i) {
    unsigned id = numbers[i]++;
    union sigval value = {.sival_ptr = (void *)(uintptr_t)id};
    HOLDS(id < NUMBERS);
    for (unsigned k = 0; k < set_count; k++)
        sets[k].posted += sets[k].has_real_time[i];
    if (!blocks_signals && chance(2))
        HOLDS(queue_to_this_thread(SIGRTMIN + 1 + i, value) == 0);
    else
        HOLDS(sigqueue(getpid(), SIGRTMIN + 1 + i, value) == 0);
}

struct heard {
    uint64_t count[SETS];
};

static struct heard heard_before(int i) {
    struct heard h = {{0}};
    for (unsigned k = 0; k < set_count; k++)
        h.count[k] = fin_event_read(&sets[k].heard[i]);
    return h;
}

// Each set has been told of one more.
static void await_heard(int i, struct heard before) {
    for (unsigned k = 0; k < set_count; k++)
        if (sets[k].has[i])
            fin_event_await_nc(&sets[k].heard[i], before.count[k] + 1);
}

static void send_ordinary(int i) {
    struct heard before = heard_before(i);
    if (!in_a_set(i))
        return;
    if (!blocks_signals && chance(2))
        HOLDS(raise(ordinary[i]) == 0);
    else
        HOLDS(kill(getpid(), ordinary[i]) == 0);
    await_heard(i, before);
}

static void sends_signals(void *unused) {
    (void)unused;
    for (unsigned n = 1 + chance(30); n; n--) {
        int i = (int)chance(REAL_TIME);
        bool any = false;
        for (unsigned k = 0; k < set_count; k++)
            any = any || sets[k].has_real_time[i];
        if (chance(5) == 0)
            send_ordinary((int)chance(ORDINARY));
        else if (any)
            send_number(i);
        if (chance(4) == 0)
            rest_here();
    }
    for (unsigned k = 0; k < set_count; k++)
        fin_event_await_nc(&sets[k].numbers, sets[k].posted);
}

// ---- the pool: each piece of work is done once or, cancelled, not at all; never more at once than there may be threads

static _Atomic unsigned bound, working, inner; // inner: that wait for the pool themselves
static bool with_inner; // work that uses Fin on its own thread, which then keeps descriptors
static __thread uint64_t submitted;
static _Atomic uint64_t begun[THREADS];

static void quick(void *number) { ++*(_Atomic int *)number; }

static void waits_for_pool(struct act *a) {
    _Atomic int number = 0;
    if (++inner < bound)
        HOLDS_OF(a, fin_offload_nc(quick, &number) == 0 && number == 1);
    inner--;
}

static void works(void *act) {
    struct act *a = act;
    sigset_t now;
    unsigned most = bound;
    HOLDS_OF(a, ++working <= most);
    if (most == 1) { // first come, first served
        HOLDS_OF(a, begun[a->fd] < a->value);
        begun[a->fd] = a->value;
    }
    HOLDS_OF(a, pthread_sigmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGUSR1) == 1);
    switch (a->how) {
    case 0: usleep(chance(500)); break;
    case 1: HOLDS_OF(a, !with_inner || calm[burst_now] || fin_sleep(chance(100) * FIN_US) == 0); break;
    case 2:
        if (!with_inner)
            break;
        working--;
        waits_for_pool(a);
        working++;
        break;
    }
    a->status++;
    working--;
}

static void submits(struct act *a) {
    a->fd = me;
    a->value = ++submitted;
}

static ssize_t run_work(struct act *a) {
    submits(a);
    return !a->cancels && a->how % 2 ? fin_offload_nc(works, a) : fin_offload(works, a);
}

static int run_work_on(struct act *a) {
    submits(a);
    return fin_offload_on(&a->on, works, a, REST);
}

static void has_work(void *unused) {
    struct act *a = new_act("work", NULL);
    (void)unused;
    a->how = chance(8);
    a->run = run_work;
    a->run_on = run_work_on;
    while (!try_act(a))
        HOLDS_OF(a, a->status == 0);
    HOLDS_OF(a, a->status == 1 && a->result == 0);
    if (a->how == 7) { // never begun
        fin_finish {
            fin_cancel();
            HOLDS_OF(a, fin_offload(works, a) == -ECANCELED);
        }
    }
}

#endif
