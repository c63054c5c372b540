// SPDX-License-Identifier: BSD-2-Clause
// A directed yield to an AWE that another thread schedules at the same time: it runs once for both, or the yield says that
// it has been woken. It must not run between the moment when the other thread has claimed it and that when it is in the
// inbox: it would come out of there while it runs. (models/awe.pml) An id names it until it is resumed; a yield by id looks
// at what the other thread writes, and makes it run.
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

static void yield_there(uint32_t id) {
    int r = id ? fin_yield_to_id(id) : fin_yield_to(contested);
    CHECK(r == 0 || (!id && r == -EALREADY));
    CHECK(!id || !fin_awe_id_get(id));
}

static void race(uint32_t id) {
    fin_shared int resumed = 0, asked = 0;
    pthread_t t;
    ready = tried = 0;
    CHECK_EQ(pthread_create(&t, NULL, other, NULL), 0);
    fin_finish {
        fin_async {
            for (int i = 1; i <= rounds; i++) {
                fin_suspend(&contested);
                resumed++;
                CHECK_EQ(resumed, asked);
                while (atomic_load(&tried) < i) // the AWE lies in this frame: it stays until the other has tried
                    sched_yield();
            }
        };
        for (int i = 1; i <= rounds; i++) {
            asked = i;
            CHECK(!id || fin_awe_id_set(id, contested) == 0);
            atomic_store_explicit(&ready, i, memory_order_release);
            for (volatile int wait = i / 50 % 50; wait > 0; wait--) {
            }
            yield_there(id);
            CHECK(!id || resumed == i);
            while (resumed < i) {
                sched_yield();
                fin_yield();
            }
        }
    }
    pthread_join(t, NULL);
    CHECK_EQ(resumed, rounds);
}

int main(void) {
    uint32_t id;
    rounds = getenv("FIN_FEW") ? 5000 : 100000;
    race(0);
    CHECK_EQ(fin_awe_id_create(&id), 0);
    CHECK(id != 0);
    race(id);
    CHECK_EQ(fin_awe_id_remove(id), 0);
    return 0;
}
