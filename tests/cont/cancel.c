// SPDX-License-Identifier: BSD-2-Clause
// Cancellation reaches an AWE that waits with a continuation: it runs with -ECANCELED, once.
#include <string.h>

#include <fin.h>

#include "check.h"

static struct fin_awe *slot[4];

struct state {
    int number;
    bool nc, again;
};

static void waits(void *p, int result);

static void woken(void *p, int result) {
    struct state s = *(struct state *)p;
    LOG("%d:%d ", s.number, result);
    if (s.again) {
        s.again = false;
        fin_block_on(woken, &s, sizeof s); // the block is cancelled: it does not wait
    }
    fin_cont_end();
}

static void waits(void *p, int result) {
    struct state s = *(struct state *)p;
    CHECK_EQ(result, 0);
    slot[s.number] = fin_awe_self();
    CHECK((s.nc ? fin_block_on_nc : fin_block_on)(woken, &s, sizeof s) == 0);
}

static void start(struct fin_finish_block *b, struct state s) { CHECK(fin_cont_start_(b, waits, &s, sizeof s) != NULL); }
#define START(number, nc, again) start(FIN_CONT_BLOCK_, (struct state){number, nc, again})

static void while_waiting(void) {
    fin_finish {
        START(0, false, true);
        START(1, true, false);
        START(2, false, false);
        fin_yield();
        CHECK_EQ(fin_schedule(slot[2]), 0); // before the cancel
        fin_cancel();
        CHECK_EQ(fin_schedule(slot[0]), -EALREADY);
        fin_yield();
        LOG("nc ");
        CHECK_EQ(fin_schedule(slot[1]), 0);
    }
    CHECK_LOG("2:0 0:-125 nc 0:-125 1:0 ");
}

static void before_it_began(void) {
    fin_finish {
        START(0, false, false);
        fin_cancel();
    }
    CHECK_LOG("0:-125 ");
}

static void from_around(void) {
    fin_finish_as(outer) {
        fin_async {
            fin_finish {
                START(0, false, false);
                fin_finish_nc {
                    START(1, false, false);
                    fin_async {
                        fin_yield();
                        fin_yield();
                        CHECK_EQ(fin_schedule(slot[1]), 0);
                    };
                }
            }
        };
        fin_yield();
        fin_cancel_as(outer);
    }
    CHECK_LOG("0:-125 1:0 ");
}

// The block that an AWE of a body started in ends: whoever is left in the lists of those around it must be gone.
static void many_times(void) {
    for (int i = 0; i < 1000; i++) {
        fin_finish_as(outer) {
            fin_finish {
                START(0, false, false);
                START(1, false, false);
                fin_yield();
                CHECK_EQ(fin_schedule(slot[i % 2]), 0);
                CHECK_EQ(fin_schedule(slot[!(i % 2)]), 0);
            }
            fin_cancel_as(outer);
        }
        check_log[0] = 0;
    }
}

int main(void) {
    void (*all[])(void) = {while_waiting, before_it_began, from_around, many_times};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        check_log[0] = 0;
        all[i]();
    }
    return 0;
}
