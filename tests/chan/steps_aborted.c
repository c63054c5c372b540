// SPDX-License-Identifier: BSD-2-Clause
// Steps that are transactions, with a stand-in for the processor's (stand_in/rtm.h): a message that comes in the middle of
// a step, of another thread or process, aborts it, is handled, and the step runs again as if it had not begun; one that
// comes before its first look likewise, and one whose store is seen only some time after it aborted the step. A step that is
// aborted by no message is tried three times and then runs plainly; so does one that messages abort again and again. A step
// that keeps aborting is tried less and less often, until it commits; others are as before.
#include <limits.h>

#include "alert.h"

#include "../../src/chan/step.c"

enum { AT_MOST = 200 };

static struct fin_chan *from;
static unsigned wanted, sent; // messages: the sender sends as many as are wanted
static unsigned value;
static unsigned conflicts; // that are still to come, in each step
static bool by_message;

static void sends(void *unused) {
    (void)unused;
    while (!over) {
        if (__atomic_load_n(&wanted, __ATOMIC_ACQUIRE) != sent) {
            CHECK_EQ(fin_chan_send(from, &sent, sizeof sent), 0);
            sent++;
        }
        fin_sleep(1000);
    }
}

// One comes now.
static void message_comes(void) {
    struct fin_runtime *rt = fin_here();
    __atomic_store_n(&wanted, wanted + 1, __ATOMIC_RELEASE);
    while (!told(rt)) {
    }
}

static bool conflict(void) {
    if (conflicts == 0)
        return false;
    conflicts--;
    if (by_message)
        message_comes();
    return true;
}

static void once_at_begin(void) {
    rtm.at_begin = NULL;
    message_comes();
}

static unsigned pauses;
static void at_third_pause(void) {
    if (++pauses == 3)
        message_comes();
}

static void step(void *state) {
    unsigned *v = state;
    *v += 1;
    transaction_point();
    *v += 1;
}

static void another(void *state) { step(state); }

static void one_of(void (*fn)(void *), unsigned aborts, unsigned messages) {
    unsigned before = value, seen = handled;
    rtm.begun = rtm.aborted = rtm.committed = 0;
    CHECK_EQ(fin_monitored_step(fn, &value), (int)aborts);
    CHECK_EQ(value, before + 2);
    CHECK_EQ(handled, seen + messages);
    CHECK_EQ(rtm.aborted, aborts);
    CHECK(!rtm.active);
}

static void one(unsigned aborts, unsigned messages) { one_of(step, aborts, messages); }

static void run_plainly(unsigned times) {
    while (times--) {
        one(0, 0);
        CHECK_EQ(rtm.begun, 0);
    }
}

static void keeps_aborting(void) {
    conflicts = UINT_MAX;
    for (unsigned n = 1, i = 0; i < 12; i++, n = n < PLAIN_AT_MOST ? 2 * n + 1 : n) {
        one(TRIES, 0);
        CHECK_EQ(rtm.committed, 0);
        if (i == 2) {
            conflicts = 1;
            one_of(another, 1, 0);
            CHECK_EQ(rtm.committed, 1);
            conflicts = UINT_MAX;
        }
        run_plainly(n);
    }
    conflicts = 0;
    for (int i = 0; i < 3; i++) {
        one(0, 0);
        CHECK_EQ(rtm.committed, 1);
    }
    conflicts = TRIES;
    one(TRIES, 0);
    run_plainly(1);
    one(0, 0);
    CHECK_EQ(rtm.committed, 1);
    conflicts = TRIES;
    one_of(another, TRIES, 0);
    one(0, 0);
    CHECK_EQ(rtm.committed, 1);
}

static void scenes(void) {
    one(0, 0);
    CHECK_EQ(rtm.committed, 1);
    by_message = true;
    conflicts = 1;
    one(1, 1);
    CHECK_EQ(rtm.committed, 1);
    conflicts = 5;
    one(5, 5);
    CHECK_EQ(rtm.committed, 1);
    rtm.at_begin = once_at_begin;
    one(1, 1);
    CHECK_EQ(rtm.committed, 1);
    by_message = false;
    at_pause = at_third_pause;
    conflicts = 1;
    one(1, 1);
    CHECK_EQ(rtm.committed, 1);
    at_pause = NULL;
    by_message = true;
    conflicts = AT_MOST;
    one(MOST, MOST);
    CHECK_EQ(rtm.committed, 0);
    conflicts = 0;
    by_message = false;
    conflicts = 2;
    one(2, 0);
    CHECK_EQ(rtm.committed, 1);
    keeps_aborting();
}

static void beside(enum kind kind) {
    wanted = sent = handled = pauses = 0;
    over = false;
    open_set(kind, 1);
    from = a;
    beside_sender(sends, scenes);
}

int main(void) {
    needs_signals();
    rtm.state = &value;
    rtm.size = sizeof value;
    rtm.conflict = conflict;
    beside(PAIR);
    beside(SOCKET);
    return 0;
}
