// SPDX-License-Identifier: BSD-2-Clause
// Bursts of messages to channels that change sets, while AWEs of several threads dispatch, monitor and poll these; then all
// are idle, and no timer runs, until each message is acknowledged and each end is told: so an event of which nobody is told
// hangs. waitset_everything.c has events all the time, of which the next may tell what the last has not.
#include "moves_everything_send.h"

enum { THREADS = 3 };

static unsigned thread_count;
static bool monitors, computes, steps, insides, outside, guests, visits;
static bool at_once; // who has started all, and who has just been started, computes from then on

static bool is_over(void) { return fin_event_read(&ends) == channel_count; }

// ---- dispatching

struct dispatcher {
    struct fin_chan_on on;
    struct fin_waitset *set;
    void *arg;
};

static void dispatched(void *state, int r) {
    struct dispatcher *d = *(struct dispatcher **)state;
    CHECK(r == 0 || r == -ECANCELED || r == -ESHUTDOWN);
    if (r == 0)
        fin_waitset_dispatch_on(d->set, &d->on, dispatched, &d, sizeof d);
    free(d);
    fin_cont_end();
}

static void dispatches_on(void *set) {
    struct dispatcher *d = malloc(sizeof *d);
    d->set = set;
    fin_waitset_dispatch_on(set, &d->on, dispatched, &d, sizeof d);
    CHECK(false);
}

static int dispatch_within(struct fin_waitset *w, uint64_t ns) {
    int r = -ECANCELED;
    fin_timeout(ns) {
        r = fin_waitset_dispatch_monitored(w);
    }
    return r;
}

static int dispatch_cancelled(struct fin_waitset *w) {
    int r = 0;
    fin_finish {
        fin_cancel();
        r = fin_waitset_dispatch(w);
    }
    return r;
}

static int dispatch_now(struct fin_waitset *w) {
    switch (calm ? 4 + chance(3) : chance(9)) {
    case 0:
        return fin_waitset_dispatch_nonblock(w);
    case 1:
        return fin_waitset_check(w);
    case 2:
        return dispatch_cancelled(w);
    case 4:
        return fin_waitset_dispatch(w);
    case 5:
        return fin_waitset_dispatch_monitored(w);
    case 6:
        return fin_waitset_dispatch_nc(w);
    default:
        return dispatch_within(w, chance(300) * FIN_US);
    }
}

static void dispatches(void *set) {
    int r;
    do {
        r = dispatch_now(set);
        CHECK(r == 0 || r == -EAGAIN || r == -ECANCELED || r == -ESHUTDOWN);
        if (r != 0 && chance(2))
            fin_yield();
    } while (r != -ESHUTDOWN);
}

static void told_next(void *state, int r) {
    struct dispatcher *d = *(struct dispatcher **)state;
    CHECK(r == 0 || r == -ECANCELED || r == -ESHUTDOWN);
    if (r == 0) {
        handle(d->arg);
        fin_waitset_next_on(d->set, &d->arg, &d->on, told_next, &d, sizeof d);
    }
    free(d);
    fin_cont_end();
}

static void nexts_on(void *set) {
    struct dispatcher *d = malloc(sizeof *d);
    d->set = set;
    fin_waitset_next_on(set, &d->arg, &d->on, told_next, &d, sizeof d);
    CHECK(false);
}

static void nexts_of(void *set) {
    int r;
    void *arg;
    do {
        r = calm || chance(2) ? fin_waitset_next(set, &arg) : next_within(set, chance(300) * FIN_US, &arg);
        CHECK(r == 0 || r == -ECANCELED || r == -ESHUTDOWN);
        if (r == 0)
            handle(arg);
    } while (r != -ESHUTDOWN);
}

static void (*some_form(void))(void *) {
    if (nexts)
        return chance(2) ? nexts_of : nexts_on;
    return chance(2) ? dispatches : dispatches_on;
}

// ---- computations

static unsigned long volatile work;

static void compute(void *unused) {
    (void)unused;
    for (unsigned n = 0; n < 300; n++)
        work++;
}

static void compute_some(unsigned n) {
    if (steps && chance(2)) {
        for (; n; n--)
            fin_monitored_step(compute, NULL);
        return;
    }
    fin_alert_enable();
    for (; n; n--)
        compute(NULL);
    fin_alert_disable();
}

static bool is_told(unsigned before) { return __atomic_load_n(&handled, __ATOMIC_ACQUIRE) != before || is_over(); }

// Nothing but an alert makes this thread look.
static void compute_until_told(void) {
    unsigned before = __atomic_load_n(&handled, __ATOMIC_ACQUIRE);
    bool in_steps = steps && chance(2);
    if (!in_steps)
        fin_alert_enable();
    while (!is_told(before)) {
        if (in_steps)
            fin_monitored_step(compute, NULL);
        else
            compute(NULL);
        if (work % 4096 < 300)
            sched_yield();
    }
    if (!in_steps)
        fin_alert_disable();
}

// ---- those who act when a burst begins

static void monitor(struct fin_waitset *w) {
    int r = fin_waitset_monitor(w);
    CHECK(r == 0 || r == -EBUSY || r == -ESHUTDOWN);
}

// A thread that comes, monitors a set, and goes.
static void is_guest(void *set) {
    own_seed = seed * 131 + __atomic_load_n(&handled, __ATOMIC_RELAXED);
    fin_finish {
        if (monitors)
            monitor(set);
        for (unsigned n = chance(4); n; n--) {
            int r = dispatch_within(set, chance(200) * FIN_US);
            CHECK(r == 0 || r == -ECANCELED || r == -ESHUTDOWN);
            if (computes && chance(2))
                compute_some(chance(30));
        }
    }
}

static void has_guest(struct fin_waitset *w) {
    struct fin_thread_handle h;
    CHECK_EQ(fin_thread_start(&h, is_guest, w), 0);
    fin_thread_join_nc(&h);
}

// Of one that all threads may receive from.
static void receive_outside(struct channel *c) {
    fin_mutex_lock_nc(&c->mutex);
    for (unsigned n = chance(3); n && !c->ended && receive(c, false);)
        n--;
    acknowledge(c);
    fin_mutex_unlock(&c->mutex);
}

static void change_from_outside(struct channel *c) {
    fin_mutex_lock_nc(&c->mutex);
    if (!c->ended)
        change_set(c);
    fin_mutex_unlock(&c->mutex);
}

static void look(struct fin_waitset *w) {
    int r = nexts || chance(2) ? fin_waitset_check(w) : fin_waitset_dispatch_nonblock(w);
    CHECK(r == 0 || r == -EAGAIN || r == -ESHUTDOWN);
}

// Who waits for a while and leaves: others are to lead, and to have the event that it was woken for.
static void visit(struct fin_waitset *w) {
    fin_finish {
        fin_async_call(nexts ? nexts_on : dispatches_on, w);
        if (!nexts && chance(2))
            dispatch_within(w, chance(200) * FIN_US);
        else
            pause_here();
        fin_cancel();
    }
}

static void act(struct channel *c) {
    struct fin_waitset *w = some_set();
    switch (chance(10)) {
    case 0:
        if (monitors)
            monitor(w);
        break;
    case 1:
        if (monitors && !alerted)
            fin_waitset_poll(w);
        break;
    case 2:
        if (!calm)
            look(w);
        break;
    case 3:
        if (computes)
            compute_some(chance(60));
        break;
    case 4:
        if (guests && chance(3) == 0)
            has_guest(w);
        break;
    case 5:
        if (outside)
            receive_outside(c);
        break;
    case 6:
        if (visits)
            visit(w);
        break;
    default:
        change_from_outside(c);
    }
}

static void acts(void *unused) {
    (void)unused;
    char what;
    if (monitors && at_once)
        compute_some(chance(60)); // before whoever started this goes on
    while (fin_read(wakes[0], &what, 1) == 1) {
        if (what == COMPUTE_UNTIL_TOLD)
            compute_until_told();
        for (unsigned n = what == ACT ? chance(7) : 0; n; n--) {
            act(&channels[chance(channel_count)]);
            if (chance(2))
                pause_here();
            else
                spin();
        }
    }
}

// ---- the senders: an AWE of A, and B

// The actors end with the last sender.
static void sends_inside(void *unused) {
    (void)unused;
    if (insides)
        sends(PAIR);
    close(wakes[1]);
}

static void be_b(void) {
    own_seed = seed * 77;
    close(wakes[0]);
    for (struct channel *c = channels; c < channels + channel_count; c++) {
        if (c->kind != SOCKET)
            continue;
        close(c->fds[0]);
        HOLDS(c, fin_chan_take(&c->from, c->fds[1], chance(2) ? FIN_CHAN_SHARED : 0) == 0);
    }
    sends(SOCKET);
}

// ---- A

static void shuts_down(void *unused) {
    (void)unused;
    fin_event_await_nc(&ends, channel_count);
    for (unsigned i = 0; i < set_count; i++)
        fin_waitset_shutdown(sets[i]);
}

// As many AWEs of this thread dispatch that set; where events are taken alone there is one of each set.
static unsigned dispatchers(unsigned set, int me) {
    bool mine = (int)(set % thread_count) == me;
    if (nexts)
        return mine;
    return mine || chance(3) == 0 ? 1 + chance(2) : 0;
}

static void monitor_own(int me) {
    for (unsigned i = (unsigned)me; i < set_count; i += thread_count)
        if (alerted || chance(2))
            monitor(sets[i]);
}

static void thread(void *number) {
    int me = (int)(intptr_t)number;
    own_seed = seed * 977 + (unsigned)me * 7919;
    if (monitors)
        monitor_own(me);
    if (at_once)
        fin_sleep_nc(chance(300) * FIN_US); // messages come first
    fin_finish {
        if (me == 0) {
            fin_async_call(shuts_down, NULL);
            fin_async_call(sends_inside, NULL);
        }
        for (unsigned i = 0; i < set_count; i++)
            for (unsigned n = dispatchers(i, me); n; n--)
                fin_async_call(some_form(), sets[i]);
        for (int i = me; i < ACTORS; i += (int)thread_count)
            fin_async_call(acts, NULL);
        while (alerted && at_once && !is_over())
            compute_until_told();
    }
}

static void open_channel(struct channel *c) {
    fin_mutex_init(&c->mutex);
    if (c->kind == SOCKET) {
        close(c->fds[1]);
        HOLDS(c, fin_chan_offer(&c->to, c->fds[0], &c->options) == 0);
    } else {
        c->options.flags = FIN_CHAN_SHARED;
        HOLDS(c, fin_chan_pair(&c->from, &c->to, &c->options) == 0);
    }
    HOLDS(c, fin_waitset_add(some_set(), c->to, handle, c) == 0);
}

static void be_a(void) {
    struct fin_thread_handle h[THREADS];
    own_seed = seed * 31;
    fin_event_init(&ends);
    for (unsigned i = 0; i < set_count; i++)
        CHECK_EQ(fin_waitset_new(&sets[i]), 0);
    for (unsigned i = 0; i < channel_count; i++)
        open_channel(&channels[i]);
    fin_finish {
        for (unsigned i = 1; i < thread_count; i++)
            CHECK_EQ(fin_thread_start(&h[i], thread, (void *)(intptr_t)i), 0);
        thread(NULL);
        for (unsigned i = 1; i < thread_count; i++)
            fin_thread_join_nc(&h[i]);
    }
    for (unsigned i = 0; i < set_count; i++)
        fin_waitset_close(sets[i]);
}

// ---- what is by chance, before the processes part

static void make_channel(struct channel *c, unsigned *state) {
    bool inside = insides && pick(state, 3) == 0, any_thread = thread_count > 1 && (outside || lax || nexts);
    c->kind = inside ? PAIR : SOCKET;
    c->options.size = !alerted && pick(state, 2) ? 4096 : 0;
    c->options.flags = any_thread || pick(state, 2) ? FIN_CHAN_SHARED : 0;
    c->closed_after = pick(state, 4) ? BURSTS - 1 : pick(state, BURSTS);
    if (!inside)
        CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, c->fds), 0);
}

static void make_world(void) {
    unsigned state = seed * 2654435761u;
    next_random(&state);
    bool signals = !ON_TSAN && !on_valgrind();
    monitors = signals && pick(&state, 4);
    computes = monitors && pick(&state, 2);
    alerted = monitors && pick(&state, 4) == 0;
    steps = pick(&state, 2);
    at_once = pick(&state, 2);
    channel_count = 1 + pick(&state, MOST);
    set_count = 1 + pick(&state, SETS);
    thread_count = alerted ? 1 : 1 + pick(&state, THREADS);
    calm = alerted || pick(&state, 3) == 0;
    lax = !alerted && pick(&state, 3) == 0;
    nexts = pick(&state, 4) == 0;
    insides = !alerted && pick(&state, 3) == 0;
    outside = pick(&state, 2);
    visits = pick(&state, 2);
    guests = !alerted && !nexts && pick(&state, 3) == 0;
    with_fds = pick(&state, 3) == 0;
    kills = pick(&state, 5) == 0;
    killed_after = kills ? pick(&state, BURSTS) : BURSTS;
    for (unsigned i = 0; i < channel_count; i++) {
        channels[i] = (struct channel){.number = (int)i};
        make_channel(&channels[i], &state);
    }
    for (int i = 0; i < KINDS; i++)
        CHECK_EQ(pipe(reports[i]), 0);
    CHECK_EQ(pipe(wakes), 0);
}

static void hangs(int unused) {
    (void)unused;
    fprintf(stderr,
            "hangs: FIN_SEED=%u FIN_ROUNDS=1; %u sets, %u threads, %d ended; monitors %d computes %d alerted %d steps %d "
            "calm %d lax %d nexts %d inside %d outside %d guests %d fds %d kills %d\n",
            seed, set_count, thread_count, (int)fin_event_read(&ends), monitors, computes, alerted, steps, calm, lax, nexts,
            insides, outside, guests, with_fds, kills);
    for (struct channel *c = channels; c < channels + channel_count; c++)
        fprintf(stderr, "%d, channel %d: kind %d sent %u heard %u received %u acknowledged %u ended %d\n", (int)getpid(),
                c->number, (int)c->kind, c->sent, c->heard, c->received, c->acknowledged, c->ended);
    abort();
}

static void close_in_parent(void) {
    for (struct channel *c = channels; c < channels + channel_count; c++)
        for (int k = 0; k < 2 && c->kind == SOCKET; k++)
            close(c->fds[k]);
    for (int k = 0; k < 2; k++) {
        close(wakes[k]);
        for (int i = 0; i < KINDS; i++)
            close(reports[i][k]);
    }
}

static void one_round(void) {
    make_world();
    pid_t pids[2] = {start(be_a), start(be_b)};
    close_in_parent();
    await_both(pids, kills);
}

int main(void) {
    run_rounds(100, one_round);
    return 0;
}
