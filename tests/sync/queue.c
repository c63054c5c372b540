// SPDX-License-Identifier: BSD-2-Clause
// A queue: turns in order of entry; who leaves early makes no gap; what fin_queue_leave returns.
#include <errno.h>
#include <string.h>

#include <fin.h>

#include "check.h"

static struct fin_queue q = FIN_QUEUE_INIT;

static void results(void) {
    struct fin_queue_entry e[5];
    fin_queue_enter(&q, &e[0]);
    CHECK_EQ(fin_queue_await_turn(&q, &e[0]), 0);
    CHECK_EQ(fin_queue_leave(&q, &e[0]), 1);

    fin_queue_enter(&q, &e[0]);
    fin_queue_enter(&q, &e[1]);
    CHECK_EQ(fin_queue_leave(&q, &e[1]), 0);
    CHECK_EQ(fin_queue_leave(&q, &e[0]), 2);

    // 4 and 3 leave, 3 having counted 4; 1 leaves; then 0 (and 1), then 2 (and 3 and 4)
    for (int i = 0; i < 5; i++)
        fin_queue_enter(&q, &e[i]);
    CHECK_EQ(fin_queue_leave(&q, &e[4]), 0);
    CHECK_EQ(fin_queue_leave(&q, &e[3]), 0);
    memset(&e[3], 0xa5, 2 * sizeof e[3]); // theirs no more
    CHECK_EQ(fin_queue_leave(&q, &e[1]), 0);
    CHECK_EQ(fin_queue_leave(&q, &e[0]), 2);
    CHECK_EQ(fin_queue_leave(&q, &e[2]), 3);
    CHECK(q.first == NULL && q.last == NULL);
}

static int turn(int me) {
    struct fin_queue_entry e;
    fin_queue_enter(&q, &e);
    int r = fin_queue_await_turn(&q, &e);
    LOG("%s%d ", r == 0 ? "t" : "x", me);
    fin_yield();
    return fin_queue_leave(&q, &e);
}

static void turns(void) {
    fin_finish {
        for (int i = 0; i < 4; i++) {
            fin_async {
                int me = i;
                CHECK_EQ(turn(me), 1);
                LOG("l%d ", me);
            };
        }
    }
    CHECK_LOG("t0 l0 t1 l1 t2 l2 t3 l3 ");
}

static void __attribute__((noinline)) clobber(void) {
    char junk[1024];
    memset(junk, 0xff, sizeof junk);
    __asm__ volatile("" : : "r"(junk) : "memory");
}

// An entry whose wait was cancelled stays in the queue: its turn comes and finds nobody waiting.
static void stays(void) {
    struct fin_queue_entry e[3];
    for (int i = 0; i < 3; i++)
        fin_queue_enter(&q, &e[i]);
    struct fin_queue_entry *p = e;
    fin_finish {
        fin_finish {
            fin_async {
                CHECK_EQ(fin_queue_await_turn(&q, &p[1]), -ECANCELED);
                clobber();
            };
            fin_async {
                fin_queue_await_turn_nc(&q, &p[2]);
                LOG("third ");
            };
            fin_cancel();
            // the waiter has not run since: it is still marked in its entry
            CHECK_EQ(fin_queue_leave(&q, &p[0]), 1);
            fin_yield();
            CHECK_LOG("");
            CHECK_EQ(fin_queue_leave(&q, &p[1]), 1);
        }
        CHECK_LOG("third ");
        fin_queue_enter(&q, &p[0]);
        fin_finish {
            fin_async {
                CHECK_EQ(fin_queue_await_turn(&q, &p[0]), -ECANCELED);
                clobber();
            };
            fin_cancel();
        }
        clobber();
        CHECK_EQ(fin_queue_leave(&q, &p[2]), 1);
        CHECK_EQ(fin_queue_await_turn(&q, &p[0]), 0);
        CHECK_EQ(fin_queue_leave(&q, &p[0]), 1);
    }
    check_log[0] = 0;
}

// The oldest that was interrupted while it waited: its turn has come meanwhile, so it leaves as the others do.
static void interrupted(void) {
    check_log[0] = 0;
    struct fin_queue_entry front, *f = &front;
    fin_queue_enter(&q, f);
    fin_finish {
        fin_async {
            fin_finish {
                fin_async { CHECK_EQ(turn(1), 1); };
                fin_cancel();
                LOG("asked ");
                CHECK_EQ(fin_queue_leave(&q, f), 1);
            }
        };
        fin_async { CHECK_EQ(turn(2), 1); };
    }
    CHECK_LOG("asked x1 t2 ");

    // one that leaves before its turn, and the turn then goes past it
    check_log[0] = 0;
    fin_queue_enter(&q, f);
    fin_finish {
        fin_finish {
            fin_async { CHECK_EQ(turn(1), 0); };
            fin_cancel();
        }
        fin_async { CHECK_EQ(turn(2), 1); };
        CHECK_EQ(fin_queue_leave(&q, f), 2);
    }
    CHECK_LOG("x1 t2 ");
}

static void nc(void) {
    struct fin_queue_entry front, *f = &front;
    fin_queue_enter(&q, f);
    fin_shared int had = 0;
    fin_finish {
        fin_async {
            struct fin_queue_entry e;
            fin_queue_enter(&q, &e);
            fin_queue_await_turn_nc(&q, &e);
            had = 1;
            CHECK_EQ(fin_queue_leave(&q, &e), 1);
        };
        fin_cancel();
        fin_yield();
        CHECK_EQ(had, 0);
        CHECK_EQ(fin_queue_await_turn(&q, f), -ECANCELED);
        CHECK_EQ(fin_queue_leave(&q, f), 1);
    }
    CHECK_EQ(had, 1);
}

int main(void) {
    results();
    stays();
    turns();
    interrupted();
    nc();
    return 0;
}
