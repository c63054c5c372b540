// SPDX-License-Identifier: BSD-2-Clause
// Steps that are transactions of the processor: each is done once and whole, in memory and in registers, whatever comes
// between: a message before its first look, messages in its middle, a flood of alerts, a transaction within.
#include "alert.h"

#include <sched.h>

#include "rtm.h"

enum { CONFLICT = 1 << 2, ROUNDS = 200, LONG = 100000 };

static void (*before_begin)(void);
static unsigned begun, conflicts;

static unsigned begin(void) {
    if (before_begin)
        before_begin();
    begun++;
    unsigned status = fin_rtm_begin();
    if (status != FIN_RTM_STARTED && status & CONFLICT)
        conflicts++;
    return status;
}

#define fin_rtm_begin begin
#include "../../src/chan/step.c"
#undef fin_rtm_begin

static struct fin_runtime *here;
static struct fin_chan *from;
static unsigned wanted, sent; // messages: the sender sends as many as are wanted
static bool flood;

static unsigned get(const unsigned *n) { return __atomic_load_n(n, __ATOMIC_ACQUIRE); }

static void sends(void *unused) {
    (void)unused;
    while (!over) {
        if (get(&wanted) != sent) {
            CHECK_EQ(fin_chan_send(from, &sent, sizeof sent), 0);
            sent++;
        }
        if (__atomic_load_n(&flood, __ATOMIC_ACQUIRE))
            fin_alert_raise(here);
        else
            fin_sleep(100000);
    }
}

struct work {
    unsigned count;
    double x, y;
};

static void add(struct work *w, int n) {
    w->count++;
    double x = w->x, y = w->y;
    for (int i = 0; i < n; i++) {
        x = x * 1.0000001 + 1e-9;
        y = y * 0.9999999 + x;
    }
    w->x = x;
    w->y = y;
}

static void empty(void *w) { add(w, 0); }
static void adds(void *w) { add(w, LONG); }

static void commits_within(void *w) {
    add(w, 1);
    bool started = fin_rtm_begin() == FIN_RTM_STARTED;
    add(w, 1);
    if (started)
        fin_rtm_commit();
}

static void aborts_within(void *w) {
    add(w, 1);
    if (fin_rtm_begin() == FIN_RTM_STARTED) {
        add(w, 1);
        fin_rtm_abort();
    }
    add(w, 1);
}

// One step, and the same without any transaction.
static int one(void (*step)(void *), struct work *w, void (*plain)(void *), int times) {
    struct work same = *w;
    int aborts = fin_monitored_step(step, w);
    for (int i = 0; i < times; i++)
        plain(&same);
    CHECK_EQ(w->count, same.count);
    CHECK(w->x == same.x && w->y == same.y);
    CHECK(aborts >= 0 && aborts <= MOST);
    return aborts;
}

static void adds_1(void *w) { add(w, 1); }

static void alone(struct work *w) {
    while (one(empty, w, empty, 1) != 0) { // until no interrupt comes in one
    }
    while (one(commits_within, w, adds_1, 2) != 0) {
    }
    CHECK_EQ(one(aborts_within, w, adds_1, 2), TRIES);
}

static void message_comes(void) {
    before_begin = NULL;
    __atomic_store_n(&wanted, wanted + 1, __ATOMIC_RELEASE);
    while (!told(here)) {
    }
}

static void before_the_look(struct work *w) {
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned seen = handled;
        int aborts;
        do {
            before_begin = message_comes;
            aborts = one(empty, w, empty, 1);
        } while (before_begin); // that one was not tried: those before it were aborted, on a busy machine, again and again
        CHECK(aborts >= 1);
        CHECK_EQ(handled, seen + 1);
    }
}

// The sender has to run beside the step, which on a very busy machine it seldom does.
static void for_a_while(uint64_t since) {
    if (fin_now() - since > 25 * FIN_S)
        SKIP("nobody stored while a step ran: the processors are too busy");
}

// Until some were aborted by the sender's store. A step that is not would run to its end before the message is handled.
static void in_the_middle(struct work *w) {
    uint64_t since = fin_now();
    for (conflicts = 0; conflicts < ROUNDS / 10;) {
        for_a_while(since);
        if (handled == wanted)
            __atomic_store_n(&wanted, wanted + 1, __ATOMIC_RELEASE);
        one(adds, w, adds, 1);
    }
    while (handled < wanted)
        one(adds, w, adds, 1);
}

static void flooded(struct work *w) {
    uint64_t since = fin_now();
    __atomic_store_n(&flood, true, __ATOMIC_RELEASE);
    do {
        for_a_while(since);
        begun = 0;
    } while (one(adds, w, adds, 1) != MOST);
    CHECK_EQ(begun, MOST);
    __atomic_store_n(&flood, false, __ATOMIC_RELEASE);
}

static void scenes(void) {
    cpu_set_t cpus;
    struct work w = {0, 1, 1};
    alone(&w);
    before_the_look(&w);
    CHECK_EQ(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    if (CPU_COUNT(&cpus) < 2)
        return; // nobody stores while a step runs
    in_the_middle(&w);
    flooded(&w);
}

int main(void) {
    needs_signals();
    if (!fin_rtm_works())
        SKIP("no RTM on this processor");
    open_set(PAIR, 1);
    from = a;
    here = fin_here();
    beside_sender(sends, scenes);
    return 0;
}
