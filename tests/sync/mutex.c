// SPDX-License-Identifier: BSD-2-Clause
// A mutex within one thread: first come, first served, handed over, nobody overtakes; a cancelled wait gives up its place.
#include <errno.h>
#include <string.h>

#include <fin.h>

#include "check.h"

static struct fin_mutex m = FIN_MUTEX_INIT;

static void hand_over(void) {
    fin_mutex_lock_nc(&m);
    fin_finish {
        for (int i = 0; i < 4; i++) {
            fin_async {
                int me = i;
                CHECK_EQ(fin_mutex_lock(&m), 0);
                LOG("got%d ", me);
                fin_yield(); // the others stay where they are
                fin_mutex_unlock(&m);
                // handed over to the next in line, who has not run yet
                CHECK_EQ(fin_mutex_trylock(&m), me < 3 ? -EBUSY : 0);
                LOG("left%d ", me);
            };
        }
        LOG("open ");
        fin_mutex_unlock(&m);
        CHECK_EQ(fin_mutex_trylock(&m), -EBUSY);
    }
    fin_mutex_unlock(&m);
    CHECK_LOG("open got0 left0 got1 left1 got2 left2 got3 left3 ");
}

static void give_up(void) {
    check_log[0] = 0;
    fin_mutex_lock_nc(&m);
    fin_finish {
        fin_async {
            CHECK_EQ(fin_mutex_lock(&m), 0);
            LOG("first ");
            fin_mutex_unlock(&m);
        };
        fin_finish {
            fin_async {
                CHECK_EQ(fin_mutex_lock(&m), -ECANCELED);
                LOG("cancelled ");
            };
            fin_async {
                fin_mutex_lock_nc(&m);
                LOG("nc ");
                fin_mutex_unlock(&m);
            };
            fin_cancel();
            fin_async {
                CHECK_EQ(fin_mutex_lock(&m), -ECANCELED);
                LOG("late ");
            };
            fin_mutex_unlock(&m);
        }
        fin_async {
            CHECK_EQ(fin_mutex_lock(&m), 0);
            LOG("last ");
            fin_mutex_unlock(&m);
        };
    }
    CHECK_LOG("late cancelled first nc last ");
    CHECK_EQ(fin_mutex_trylock(&m), 0);
    fin_mutex_unlock(&m);
}

// Already cancelled: nothing is acquired, though it is free; the _nc form is not concerned.
static void cancelled_before(void) {
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_mutex_lock(&m), -ECANCELED);
        CHECK_EQ(fin_mutex_trylock(&m), 0);
        fin_mutex_unlock(&m);
        fin_mutex_lock_nc(&m);
        fin_mutex_unlock(&m);
        fin_finish_nc {
            CHECK_EQ(fin_mutex_lock(&m), 0);
            fin_mutex_unlock(&m);
        }
    }
}

int main(void) {
    hand_over();
    give_up();
    cancelled_before();
    return 0;
}
