// SPDX-License-Identifier: BSD-2-Clause
// Many wait for an event count, each for less than those before, or each for more: either would take minutes where a place
// is looked for from the other end alone. All are woken in the order of what they wait for, and those for the same count in
// the order of their arrival.
#include <stdlib.h>

#include <fin.h>

#include "check.h"

struct waits {
    uint64_t count, number;
    struct fin_sync_on *on;
};

static struct fin_event event;
static struct waits last;
static uint64_t woken;

static void reached(void *state, int result) {
    struct waits w = *(struct waits *)state;
    CHECK_EQ(result, 0);
    CHECK(w.count <= fin_event_read(&event));
    CHECK(w.count > last.count || (w.count == last.count && w.number > last.number));
    last = w;
    woken++;
    fin_cont_end();
}

static void begin(void *state, int result) {
    struct waits w = *(struct waits *)state;
    (void)result;
    CHECK_EQ(fin_event_await_on(&event, w.count, w.on, reached, &w, sizeof w), 0);
}

static uint64_t count_of(int how, uint64_t number, uint64_t many) {
    static const uint64_t from_inside[] = {5, 3, 7, 5, 1, 3, 9, 7, 5, 1};
    switch (how) {
    case 0:
        return many - number / 2;
    case 1:
        return number / 2 + 1;
    default:
        return from_inside[number];
    }
}

int main(void) {
    const uint64_t all = getenv("FIN_FEW") || FIN_SANITIZED ? 50000 : 500000;
    struct fin_sync_on *on = malloc(all * sizeof *on);
    for (int how = 0; how < 3; how++) {
        uint64_t many = how < 2 ? all : 10;
        fin_event_init(&event);
        last = (struct waits){0};
        woken = 0;
        fin_finish {
            for (uint64_t i = 0; i < many; i++) {
                struct waits w = {count_of(how, i, many), i, &on[i]};
                CHECK(fin_async_cont(begin, &w, sizeof w));
            }
            fin_yield();
            for (uint64_t i = 0; i < many; i++)
                fin_event_advance(&event, 1);
        }
        CHECK_EQ(woken, many);
    }
    free(on);
    return 0;
}
