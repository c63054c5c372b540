// SPDX-License-Identifier: BSD-2-Clause
// Threads of one process dispatch sets in all forms; what is in them comes from these threads and from another process, and
// moves, leaves and comes back; one thread computes, and is alerted; the other process may be killed. Each message is
// handled once, in order, by one at a time; each end is told; nobody waits for ever.
#include <sched.h>

#include "waitset_everything.h"

static bool closes_sets, forks, nexts;
static uint64_t killed_after;

// ---- dispatching

struct dispatcher {
    struct fin_chan_on on;
    struct fin_waitset *set;
    void *arg;
    bool next;
};

static void dispatched(void *state, int r) {
    struct dispatcher *d = *(struct dispatcher **)state;
    CHECK(r == 0 || r == -ESHUTDOWN);
    if (r == 0 && d->next)
        handle(d->arg);
    if (r == 0 && d->next)
        fin_waitset_next_on(d->set, &d->arg, &d->on, dispatched, &d, sizeof d);
    else if (r == 0)
        fin_waitset_dispatch_on(d->set, &d->on, dispatched, &d, sizeof d);
    free(d);
    fin_cont_end();
}

static void dispatches_on(void *set) {
    struct dispatcher *d = malloc(sizeof *d);
    *d = (struct dispatcher){.set = set};
    fin_waitset_dispatch_on(set, &d->on, dispatched, &d, sizeof d);
    CHECK(false);
}

static int dispatch_now(struct fin_waitset *w) {
    int r = -ECANCELED;
    switch (calm ? 4 + chance(2) : chance(7)) {
    case 0:
        r = fin_waitset_dispatch_nonblock(w);
        if (r == -EAGAIN)
            pause_here();
        return r;
    case 1:
        r = fin_waitset_check(w);
        return r == 0 ? fin_waitset_dispatch_nonblock(w) : r;
    case 2:
        fin_timeout(chance(300) * FIN_US) {
            r = fin_waitset_dispatch(w);
            CHECK(r != -ECANCELED || fin_cancelled());
        }
        return r;
    case 3:
        return fin_waitset_dispatch_monitored(w);
    case 4:
        return fin_waitset_dispatch_nc(w);
    case 6:
        fin_finish {
            fin_cancel();
            r = fin_waitset_dispatch(w);
        }
        CHECK(r == -ECANCELED || r == -ESHUTDOWN);
        pause_here();
        return r;
    default:
        return fin_waitset_dispatch(w);
    }
}

static void dispatches_alerts(void *set) {
    int r;
    do
        r = fin_waitset_dispatch_monitored(set);
    while (r == 0);
    CHECK_EQ(r, -ESHUTDOWN);
}

static void dispatches(void *set) {
    int r;
    do {
        r = dispatch_now(set);
        CHECK(r == 0 || r == -EAGAIN || r == -ECANCELED || r == -ESHUTDOWN);
        if (r == -EAGAIN)
            fin_yield();
    } while (r != -ESHUTDOWN);
}

// The first set has no source, where events are taken so.
static void nexts_of(void *set) {
    int r;
    void *arg;
    do {
        r = chance(2) ? fin_waitset_next_nc(set, &arg) : next_within(set, chance(300) * FIN_US, &arg);
        CHECK(r == 0 || r == -ECANCELED || r == -ESHUTDOWN);
        if (r == 0)
            handle(arg);
    } while (r != -ESHUTDOWN);
}

static void nexts_on(void *set) {
    struct dispatcher *d = malloc(sizeof *d);
    *d = (struct dispatcher){.set = set, .next = true};
    fin_waitset_next_on(set, &d->arg, &d->on, dispatched, &d, sizeof d);
    CHECK(false);
}

// ---- changes from outside

static void move_one(struct fin_waitset *to) {
    struct channel *e = &channels[chance(channel_count)];
    if (e->kind == LOCAL)
        return;
    fin_mutex_lock_nc(&e->mutex);
    if (!e->ended) {
        int r = fin_waitset_move(to ? to : some_set(e), e->to);
        HOLDS(e, r == 0 || (lax && r == -ENOENT));
    }
    fin_mutex_unlock(&e->mutex);
}

static bool is_over(void) { return fin_event_read(&ends) == channel_count; }

static int moved; // those who do, and trigger, that are through

static void moves(void *unused) {
    (void)unused;
    while (!is_over()) {
        struct source *s = &sources[chance(SOURCES)];
        if (!calm && chance(2))
            move_one(NULL);
        else
            trigger(s);
        fin_sleep_nc(chance(100000));
    }
    __atomic_fetch_add(&moved, 1, __ATOMIC_RELEASE);
}

// It waits for nothing that the thread that computes may have.
static void alerts(void *unused) {
    (void)unused;
    while (!is_over()) {
        trigger(&alert);
        fin_sleep_nc(chance(60000));
    }
    __atomic_fetch_add(&moved, 1, __ATOMIC_RELEASE);
}

static void put_back(struct channel *e) {
    fin_mutex_lock_nc(&e->mutex);
    if (!e->ended) {
        int r = fin_waitset_add(some_set(e), e->to, handle, e);
        HOLDS(e, r == 0 || r == -EBUSY);
    }
    fin_mutex_unlock(&e->mutex);
}

static void one_more_set(void) {
    struct fin_waitset *w;
    CHECK_EQ(fin_waitset_new(&w), 0);
    fin_finish {
        fin_async_call(chance(2) ? dispatches : dispatches_on, w);
        fin_async_call(dispatches, w);
        for (unsigned n = chance(6); n; n--) {
            move_one(w);
            fin_sleep_nc(chance(40000));
        }
        fin_waitset_shutdown(w);
    }
    fin_waitset_close(w);
    for (unsigned i = 0; i < channel_count; i++)
        if (channels[i].kind != LOCAL)
            put_back(&channels[i]);
}

static void makes_sets(void *unused) {
    (void)unused;
    while (!is_over()) {
        one_more_set();
        fin_sleep_nc(chance(100000));
    }
}

// ---- a computation

static volatile unsigned long steps;

static void compute(void *unused) {
    (void)unused;
    for (unsigned n = 0; n < 300; n++)
        steps++;
}

static bool is_told(unsigned before) {
    return __atomic_load_n(&alert.handled, __ATOMIC_RELAXED) != before ||
           __atomic_load_n(&ended, __ATOMIC_ACQUIRE) == channel_count;
}

// Others trigger the source, once until it is handled.
static void compute_until_told(void) {
    unsigned before = __atomic_load_n(&alert.handled, __ATOMIC_RELAXED);
    fin_alert_enable();
    while (!is_told(before)) {
        compute(NULL);
        if (steps % 1024 < 300)
            sched_yield();
    }
    fin_alert_disable();
}

static void compute_alerted(void) {
    fin_alert_enable();
    for (unsigned n = chance(60); n; n--)
        compute(NULL);
    bool was = fin_alert_disable();
    CHECK(was);
    CHECK(!fin_alert_disable());
}

// Another thread may do so, too.
static void monitor_first(void) {
    int r = fin_waitset_monitor(sets[0]);
    CHECK(r == 0 || r == -EBUSY);
}

static void computes(void *unused) {
    (void)unused;
    while (!is_over()) {
        switch (chance(5)) {
        case 0:
            compute_alerted();
            break;
        case 4:
            compute_until_told();
            break;
        case 1:
            for (unsigned n = chance(200); n; n--)
                fin_monitored_step(compute, NULL);
            break;
        case 2:
            if (seed % 2)
                fin_waitset_poll(sets[0]);
            monitor_first();
            break;
        default:
            pause_here();
        }
    }
}

static void monitors_others(void *unused) {
    (void)unused;
    while (!is_over()) {
        monitor_first();
        if (chance(2))
            fin_waitset_poll(sets[0]);
        fin_sleep_nc(chance(200000));
    }
}

// ---- threads

static void (*some_form(bool of_first))(void *) {
    if (of_first && nexts && chance(2))
        return chance(2) ? nexts_of : nexts_on;
    return chance(2) ? dispatches : dispatches_on;
}

static void shut_all_down(void) {
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    for (int i = 0; i < SETS; i++)
        fin_waitset_shutdown(sets[i]);
    fin_waitset_shutdown(alerting);
}

// All that was triggered has been handled, too, and nobody does it any more.
static void waits_for_all(void *unused) {
    (void)unused;
    fin_event_await_nc(&ends, channel_count);
    while (__atomic_load_n(&moved, __ATOMIC_ACQUIRE) < THREADS + 1)
        fin_sleep_nc(20 * FIN_US);
    for (int i = 0; i < SOURCES; i++)
        while (__atomic_load_n(&sources[i].wanted, __ATOMIC_ACQUIRE))
            fin_sleep_nc(20 * FIN_US);
    while (__atomic_load_n(&alert.wanted, __ATOMIC_ACQUIRE))
        fin_sleep_nc(20 * FIN_US);
    shut_all_down();
}

static void thread(void *number) {
    int me = (int)(intptr_t)number;
    own_seed = seed * 977 + (unsigned)me;
    fin_finish {
        for (int i = me == 0 ? 0 : 1; i < SETS; i++)
            for (unsigned n = 1 + chance(3); n; n--)
                fin_async_call(some_form(i == 0), sets[i]);
        for (struct channel *e = channels; e < channels + channel_count; e++)
            if (e->sender == me)
                fin_async_call(sends, e);
        if (me == 0) {
            fin_async_call(waits_for_all, NULL);
            fin_async_call(chance(2) ? dispatches_on : dispatches_alerts, alerting);
        }
        if (me == 0 && monitors)
            fin_async_call(computes, NULL);
        if (me == 1 && monitors && seed % 4 == 1)
            fin_async_call(monitors_others, NULL);
        if (me == 1 && closes_sets && !calm)
            fin_async_call(makes_sets, NULL);
        fin_async_call(moves, NULL);
        if (me == 2)
            fin_async_call(alerts, NULL);
    }
}

static void lingers(void) {
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        usleep(chance(20000));
        _exit(0);
    }
}

static void lingers_in_time(void *unused) {
    (void)unused;
    fin_sleep_nc(chance(1000) * FIN_US);
    lingers();
}

// ---- processes

static void open_channel(struct channel *e) {
    struct fin_chan_options o = {4096u << chance(3), lax || chance(2) ? FIN_CHAN_SHARED : 0};
    fin_mutex_init(&e->mutex);
    if (e->kind == LOCAL)
        o.flags = FIN_CHAN_LOCAL;
    if (e->kind == SOCKET) {
        close(e->fds[1]);
        HOLDS(e, fin_chan_offer(&e->to, e->fds[0], &o) == 0);
    } else {
        HOLDS(e, fin_chan_pair(&e->from, &e->to, &o) == 0);
    }
    HOLDS(e, fin_waitset_add(some_set(e), e->to, handle, e) == 0);
}

static void be_a(void) {
    struct fin_thread_handle h[THREADS];
    own_seed = seed * 31;
    fin_event_init(&ends);
    for (int i = 0; i < SETS; i++)
        CHECK_EQ(fin_waitset_new(&sets[i]), 0);
    CHECK_EQ(fin_waitset_new(&alerting), 0);
    CHECK_EQ(fin_waitset_add_source(alerting, &alert.source, handle_source, &alert), 0);
    for (unsigned i = 0; i < channel_count; i++)
        open_channel(&channels[i]);
    for (int i = 0; i < SOURCES; i++)
        CHECK_EQ(fin_waitset_add_source(sets[nexts ? 1 : i % SETS], &sources[i].source, handle_source, &sources[i]), 0);
    if (monitors) {
        monitor_first();
        CHECK_EQ(fin_waitset_monitor(alerting), 0);
    }
    fin_finish {
        for (int i = 1; i < THREADS; i++)
            CHECK_EQ(fin_thread_start(&h[i], thread, (void *)(intptr_t)i), 0);
        if (forks)
            fin_async_call(lingers_in_time, NULL);
        thread(NULL);
        for (int i = 1; i < THREADS; i++)
            fin_thread_join_nc(&h[i]);
    }
    for (int i = 0; i < SETS; i++)
        fin_waitset_close(sets[i]);
    fin_waitset_close(alerting);
}

static void be_b(void) {
    own_seed = seed * 77;
    for (struct channel *e = channels; e < channels + channel_count; e++) {
        if (e->kind != SOCKET)
            continue;
        close(e->fds[0]);
        HOLDS(e, fin_chan_take(&e->from, e->fds[1], chance(2) ? FIN_CHAN_SHARED : 0) == 0);
    }
    fin_finish {
        for (struct channel *e = channels; e < channels + channel_count; e++)
            if (e->kind == SOCKET)
                fin_async_call(sends, e);
        if (forks)
            fin_async_call(lingers_in_time, NULL);
        if (kills) {
            fin_sleep_nc(killed_after);
            kill(getpid(), SIGKILL);
        }
    }
}

// What is by chance, before the processes part.
static void make_world(void) {
    unsigned state = seed * 2654435761u;
    next_random(&state);
    lax = below(&state, 2);
    nexts = lax && below(&state, 2);
    closes_sets = lax && below(&state, 2);
    kills = below(&state, 4) == 0;
    killed_after = below(&state, 3000) * FIN_US;
    calm = below(&state, 4) == 0;
    monitors = below(&state, 2) && !ON_TSAN && !on_valgrind();
    forks = below(&state, 4) == 0 && !ON_TSAN && !on_valgrind();
    channel_count = 2 + below(&state, MOST - 1);
    memset(sources, 0, sizeof sources);
    memset(&alert, 0, sizeof alert);
    for (unsigned i = 0; i < channel_count; i++) {
        struct channel *e = &channels[i];
        *e = (struct channel){.number = (int)i, .kind = (enum kind)below(&state, KINDS), .seed = next_random(&state)};
        e->count = below(&state, 8) ? below(&state, 300) : 0;
        e->sender = e->kind == LOCAL ? 0 : e->kind == SOCKET ? B : (int)below(&state, THREADS);
        if (e->kind == SOCKET)
            CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, e->fds), 0);
    }
}

static void hangs(int unused) {
    (void)unused;
    fprintf(stderr, "hangs: FIN_SEED=%u FIN_ROUNDS=1; %d ended; lax %d nexts %d closes %d kills %d monitors %d\n", seed,
            (int)fin_event_read(&ends), lax, nexts, closes_sets, kills, monitors);
    for (struct channel *e = channels; e < channels + channel_count; e++)
        fprintf(stderr, "%d, channel %d: kind %d sender %d received %u of %u, inside %u, ended %d\n", (int)getpid(),
                e->number, (int)e->kind, e->sender, e->received, e->count, e->inside, e->ended);
    fprintf(stderr, "alert: wanted %u, handled %u\n", alert.wanted, alert.handled);
    abort();
}

static void one_round(void) {
    make_world();
    pid_t pids[2] = {start(be_a), start(be_b)};
    for (unsigned i = 0; i < channel_count; i++)
        for (int k = 0; k < 2 && channels[i].kind == SOCKET; k++)
            close(channels[i].fds[k]);
    await_both(pids, kills);
}

int main(void) {
    run_rounds(30, one_round);
    return 0;
}
