// SPDX-License-Identifier: BSD-2-Clause
// Timers run in the order of their times, and of their start where those are equal, in whatever order they were started and
// whatever is taken out between: rising, falling, several rising sequences at once, few times that many share, any.
#include "net.h"

enum { MOST = 2000, PATTERNS = 5 };

struct sleeper {
    uint64_t when;
    unsigned number;
    bool cancelled;
};

static struct sleeper sleepers[MOST];
static unsigned count, woken, cancelled, seed = 1;
static const struct sleeper *last;

static uint64_t offset(unsigned pattern, unsigned i) {
    switch (pattern) {
    case 0:
        return i;
    case 1:
        return count - i;
    case 2:
        return i % 7 * count + i / 7; // more sequences than the timers have rows
    case 3:
        return next_random(&seed) % 3;
    default:
        return next_random(&seed) % count;
    }
}

static void one(void *arg) {
    struct sleeper *s = arg;
    int r = -1;
    if (s->cancelled) {
        r = fin_sleep_until(s->when);
        CHECK_EQ(r, -ECANCELED);
        cancelled++;
        return;
    }
    fin_finish_nc {
        r = fin_sleep_until(s->when);
    }
    CHECK_EQ(r, 0);
    CHECK(fin_now() >= s->when);
    if (last)
        CHECK(last->when < s->when || (last->when == s->when && last->number < s->number));
    last = s;
    woken++;
}

// Every third one is cancelled, all at once and long before the first is due.
static void pattern(unsigned p) {
    uint64_t start = fin_now() + 100 * FIN_MS;
    last = NULL;
    woken = cancelled = 0;
    fin_finish {
        for (unsigned i = 0; i < count; i++) {
            sleepers[i] = (struct sleeper){.when = start + offset(p, i) * FIN_US, .number = i, .cancelled = i % 3 == 1};
            if (sleepers[i].cancelled)
                sleepers[i].when += 3600 * FIN_S; // and the same between those that are not
            fin_async_call(one, &sleepers[i]);
        }
        fin_cancel();
    }
    CHECK_EQ(cancelled, (count + 1) / 3);
    CHECK_EQ(woken, count - cancelled);
}

int main(void) {
    count = getenv("FIN_FEW") ? 200 : MOST;
    for (unsigned p = 0; p < PATTERNS; p++)
        pattern(p);
    return 0;
}
