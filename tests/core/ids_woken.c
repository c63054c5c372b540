// SPDX-License-Identifier: BSD-2-Clause
// A directed yield by id to an AWE that another thread schedules at the same time: the id names it until it is resumed, so
// the yield makes it run, and it runs once for both. That other thread writes what the yield looks at.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <fin.h>

#include "check.h"

static int rounds;
static struct fin_awe *contested;
static atomic_int ready, tried;

static void *other(void *arg) {
    (void)arg;
    for (int i = 1; i <= rounds; i++) {
        for (unsigned looks = 1; atomic_load_explicit(&ready, memory_order_acquire) < i; looks++)
            if (looks % 1024 == 0)
                sched_yield();
        for (volatile int wait = i % 50; wait > 0; wait--) {
        }
        int r = fin_schedule(contested);
        CHECK(r == 0 || r == -EALREADY);
        atomic_store(&tried, i);
    }
    return NULL;
}

int main(void) {
    fin_shared int resumed = 0;
    uint32_t id;
    rounds = getenv("FIN_FEW") ? 5000 : 100000;
    pthread_t t;
    CHECK_EQ(fin_awe_id_create(&id), 0);
    CHECK_EQ(pthread_create(&t, NULL, other, NULL), 0);
    fin_finish {
        fin_async {
            for (int i = 1; i <= rounds; i++) {
                fin_suspend(&contested);
                CHECK_EQ(++resumed, i);
                while (atomic_load(&tried) < i) // the AWE lies in this frame: it stays until the other has tried
                    sched_yield();
            }
        };
        for (int i = 1; i <= rounds; i++) {
            CHECK_EQ(fin_awe_id_set(id, contested), 0);
            atomic_store_explicit(&ready, i, memory_order_release);
            for (volatile int wait = i / 50 % 50; wait > 0; wait--) {
            }
            CHECK_EQ(fin_yield_to_id(id), 0);
            CHECK_EQ(resumed, i);
            CHECK(fin_awe_id_get(id) == NULL);
        }
    }
    pthread_join(t, NULL);
    CHECK_EQ(fin_awe_id_remove(id), 0);
    return 0;
}
