// SPDX-License-Identifier: BSD-2-Clause
// What is outside of the threads, by chance: child processes, signals and the pool, by AWEs of several threads, in blocks
// that are cancelled at random or end in time, and in bursts in which neither happens: so what is not told hangs. Threads
// fork meanwhile, and the children do some of it, too.
// FIN_SEED=n FIN_ROUNDS=n in the environment: others, and more.
#define _GNU_SOURCE
#include "outside_children.h"

// Of the thread sanitizer see everything.c.
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) {
#define OF(call) "race:interceptor_" #call "\n"
    return OF(close) OF(epoll) OF(eventfd) OF(fcntl) OF(open) OF(pipe) OF(read) OF(write)
        "race:fin_kill\n"; // the end of a wait comes after the signal that brings it about
}

static struct child children[BURSTS][CHILDREN];
static unsigned child_count;
static int spawner[BURSTS][CHILDREN], ender[BURSTS][CHILDREN];
static unsigned waiters[BURSTS][CHILDREN][THREADS];
static struct fin_event here;
static __thread unsigned barriers;
static bool with_children, with_work, with_forks;

// ---- time

// Ends with the first of the times around it, and says whose that was.
static void nest(uint64_t first, unsigned depth) {
    uint64_t due = fin_now() + some_time(), least = due < first ? due : first;
    int r = 0;
    fin_deadline(due) {
        if (depth) {
            fin_finish {
                nest(least, depth - 1);
            }
        }
        if (chance(4) == 0) {
            HOLDS(fin_sleep_nc(chance(50) * FIN_US) == 0);
        } else {
            uint64_t until = fin_now() + some_time();
            r = fin_sleep_until(until);
            HOLDS(r == 0 ? fin_now() >= until : r == -ECANCELED && fin_now() >= least);
        }
    }
    bool own = fin_timed_out();
    HOLDS(!own || fin_now() >= due);
    HOLDS(r == 0 || own || fin_now() >= first);
}

static void has_times(void *unused) {
    (void)unused;
    if (!calm[burst_now])
        nest(UINT64_MAX, chance(4));
}

// ---- forks, by a thread that has nothing else: in the child it goes on alone

static void in_the_child(void) {
    static const char *const argv[] = {"sh", "-c", "exit 7", NULL};
    struct fin_process p, other;
    struct fin_signals s;
    struct fin_signal_info i;
    _Atomic int number = 0;
    sigset_t all;
    int status;
    alarm(20);
    sigemptyset(&all);
    sigaddset(&all, SIGUSR2);
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    for (unsigned k = 0; k < set_count && with_signals; k++)
        HOLDS(fin_signals_next(&sets[k].signals, &i) == -EBADF);
    HOLDS(fin_signals_open(&s, &all) == 0);
    fin_finish {
        fin_async_call(has_times, NULL);
        HOLDS(fin_offload(quick, (void *)&number) == 0 && number == 1);
        HOLDS(fin_spawn(&p, &(struct fin_spawn){.path = "/bin/sh", .argv = argv}) == 0);
        HOLDS(fin_spawn(&other, &(struct fin_spawn){.path = "/bin/sh", .argv = argv}) == 0 && fin_abandon(&other) == 0);
        HOLDS(raise(SIGUSR2) == 0 && fin_signals_next(&s, &i) == 0 && i.signal == SIGUSR2);
        HOLDS(fin_wait(&p, &status) == 0 && WEXITSTATUS(status) == 7);
    }
    fin_signals_close(&s);
    while (kill(other.pid, 0) == 0) // its reaper's turn
        usleep(100);
    _exit(0);
}

static void forks(void *unused) {
    int status;
    (void)unused;
    own_seed = seed * 31 + burst_now;
    pid_t pid = fork();
    HOLDS(pid >= 0);
    if (pid == 0)
        in_the_child();
    while (waitpid(pid, &status, 0) < 0)
        HOLDS(errno == EINTR);
    HOLDS(status == 0);
}

static void has_fork(void *unused) {
    struct fin_thread_handle h;
    (void)unused;
    rest_here();
    HOLDS(fin_thread_start(&h, forks, NULL) == 0);
    fin_thread_join_nc(&h);
}

// ---- bursts

static void changes_bound(void *unused) {
    (void)unused;
    rest_here();
    HOLDS(fin_offload_threads(1 + chance(bound)) > 0);
    rest_here();
    HOLDS(fin_offload_threads(bound) > 0);
}

static void burst(unsigned n) {
    fin_finish {
        for (unsigned i = 0; i < child_count && with_children; i++) {
            if (ender[n][i] == me)
                fin_async_call(is_ended, &children[n][i]);
            for (unsigned k = waiters[n][i][me]; k; k--)
                fin_async_call(waits_for, &children[n][i]);
            if (spawner[n][i] == me)
                fin_async_call(spawns, &children[n][i]);
        }
        for (unsigned k = with_signals ? chance(3) : 0; k; k--)
            fin_async_call(sends_signals, NULL);
        for (unsigned k = with_work ? chance(12) : 0; k; k--)
            fin_async_call(has_work, NULL);
        if (with_work && me == 0 && !with_inner && bound > 1 && chance(3) == 0)
            fin_async_call(changes_bound, NULL);
        if (with_children && chance(6) == 0)
            fin_async_call(chance(2) ? has_run : has_long, NULL);
        if (with_forks && chance(5) == 0)
            fin_async_call(has_fork, NULL);
        for (unsigned k = chance(3); k; k--)
            fin_async_call(has_times, NULL);
    }
}

static void await_all(void) {
    fin_event_advance(&here, 1);
    fin_event_await_nc(&here, ++barriers * thread_count);
}

// Those who receive stay until no thread sends any more.
static void burst_and_signals(unsigned n) {
    fin_finish {
        for (unsigned k = 0; k < set_count && with_signals; k++) {
            if (k % thread_count == (unsigned)me)
                fin_async_call(receives, &sets[k]);
            for (unsigned m = chance(3); m; m--)
                fin_async_call(chance(2) ? receives : receives_some, &sets[k]);
        }
        burst(n);
        await_all();
        over = true;
        fin_cancel();
    }
}

static void begin_burst(unsigned n) {
    burst_now = n;
    over = false;
    bound = chance(3) ? 1 + chance(4) : 32;
    memset((void *)begun, 0, sizeof begun);
    HOLDS(working == 0 && fin_offload_threads(bound) > 0);
    if (!with_signals)
        return;
    for (unsigned k = 0; k < set_count; k++) {
        if (n > 0 && chance(2))
            continue; // it stays
        if (n > 0)
            close_set(&sets[k]);
        open_set(&sets[k]);
    }
    for (int i = 0; i < REAL_TIME && n == 0; i++)
        numbers[i] = 0;
    looks_at_handlers();
}

static void thread(void *number) {
    sigset_t all;
    me = (int)(intptr_t)number;
    submitted = barriers = 0;
    own_seed = seed * 977 + (unsigned)me * 7919;
    sigfillset(&all);
    blocks_signals = me > 0 && chance(3) == 0;
    if (blocks_signals)
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (unsigned n = 0; n < BURSTS; n++) {
        if (me == 0)
            begin_burst(n);
        await_all();
        burst_and_signals(n);
        await_all();
    }
}

static void make_child(struct child *c, unsigned n, unsigned i) {
    static const char kinds[] = "elksllao";
    memset(c, 0, sizeof *c);
    c->kind = kinds[chance(8)];
    c->process = (struct fin_process){.fd = -1};
    fin_event_init(&c->begun);
    fin_event_init(&c->over);
    CHECK_EQ(pipe2(c->line, O_CLOEXEC), 0);
    CHECK_EQ(pipe2(c->out, O_CLOEXEC), 0);
    spawner[n][i] = (int)chance(thread_count);
    ender[n][i] = (int)chance(thread_count);
    memset(waiters[n][i], 0, sizeof waiters[n][i]);
    for (unsigned k = c->kind == 'a' ? 0 : 1 + chance(3); k; k--)
        waiters[n][i][chance(thread_count)]++;
}

static void make_world(bool inner_too) {
    own_seed = seed * 2654435761u;
    next_random(&own_seed);
    thread_count = 1 + chance(THREADS);
    with_children = chance(3);
    with_signals = chance(4) && !on_valgrind();
    with_work = chance(4);
    with_forks = chance(3) == 0 && !ON_ASAN && !ON_TSAN && !on_valgrind(); // which a fork among threads may stop
    with_inner = inner_too && chance(2);
    set_count = 1 + chance(SETS);
    child_count = 1 + chance(CHILDREN);
    fin_event_init(&here);
    for (unsigned n = 0; n < BURSTS; n++) {
        calm[n] = chance(2);
        for (unsigned i = 0; i < child_count && with_children; i++)
            make_child(&children[n][i], n, i);
    }
}

static void end_world(void) {
    for (unsigned k = 0; k < set_count && with_signals; k++)
        close_set(&sets[k]);
    for (unsigned n = 0; n < BURSTS; n++)
        for (unsigned i = 0; i < child_count && with_children; i++)
            HOLDS(children[n][i].told == (children[n][i].kind != 'a') && fin_kill(&children[n][i].process, 0) == -ESRCH);
    free_acts();
}

static void one_round(bool inner_too) {
    make_world(inner_too);
    on_all_threads(thread);
    end_world();
}

static void hangs(int unused) {
    (void)unused;
    fprintf(stderr, "hangs: FIN_SEED=%u FIN_ROUNDS=1; %u threads, %d at barriers, burst %u%s, ", seed, thread_count,
            (int)here.count, burst_now, calm[burst_now] ? ", calm" : "");
    fprintf(stderr, "bound %u, %u at work, %s\n", bound, working, fin_io_backend());
    for (unsigned i = 0; i < child_count && with_children; i++) {
        const struct child *c = &children[burst_now][i];
        fprintf(stderr, "child %c: pid %d fd %d waited %u, begun %d over %d told %d\n", c->kind, (int)c->process.pid,
                c->process.fd, c->process.waited, (int)c->begun.count, (int)c->over.count, c->told);
    }
    for (unsigned k = 0; k < set_count && with_signals; k++)
        fprintf(stderr, "set %u: posted %d heard %d; %d %d %d\n", k, (int)sets[k].posted, (int)sets[k].numbers.count,
                (int)sets[k].heard[0].count, (int)sets[k].heard[1].count, (int)sets[k].heard[2].count);
    for (int i = 0; i < act_count && i < ACTS; i++)
        if (acts[i] && acts[i]->waits)
            show(acts[i]);
    abort();
}

int main(void) {
    const char *first = getenv("FIN_SEED"), *many = getenv("FIN_ROUNDS");
    unsigned rounds = many ? (unsigned)atoi(many) : getenv("FIN_FEW") || on_valgrind() ? 2 : 20;
    int descriptors = 0;
    signal(SIGALRM, hangs);
    signal(SIGUSR1, handled_before);
    signal(SIGUSR2, handled_before);
    seed = first ? (unsigned)atoi(first) : 1;
    fin_abandon(&(struct fin_process){.fd = -1}); // its thread and its epoll stay
    open_what_stays();
    for (unsigned round = 0; round < rounds; round++, seed++) {
        alarm(40);
        one_round(round > rounds / 2);
        if (round == 0)
            descriptors = settled_descriptors();
        else if (round <= rounds / 2 && !ON_TSAN)
            until_open_descriptors(descriptors);
    }
    return 0;
}
