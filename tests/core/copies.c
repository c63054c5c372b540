// SPDX-License-Identifier: BSD-2-Clause
// NULL, and a byte copy of an AWE that waits on a list, are no AWEs: each way to resume one says so, nothing runs twice, and
// the one that waits is not lost. From another thread fin_schedule cannot tell a copy; its owner can, when it comes to it.
#include <pthread.h>

#include <fin.h>

#include "check.h"

enum way { SCHEDULE, FRONT, YIELD_TO, NAME, WAYS };
enum state { SUSPENDED, QUEUED, QUEUED_LATER, GONE, STATES };

static struct fin_awe *awe;
static int resumed, neighbours;

static int resume(enum way way, struct fin_awe *a) {
    uint32_t id;
    int r;
    switch (way) {
    case SCHEDULE: return fin_schedule(a);
    case FRONT: return fin_schedule_front(a);
    case YIELD_TO: return fin_yield_to(a);
    default:
        CHECK_EQ(fin_awe_id_create(&id), 0);
        r = fin_awe_id_set(id, a);
        CHECK(fin_awe_id_get(id) == NULL);
        CHECK_EQ(fin_awe_id_remove(id), 0);
        return r;
    }
}

static void waits(void *unused) {
    (void)unused;
    fin_suspend(&awe);
    resumed++;
}

static void neighbour(void *unused) {
    (void)unused;
    fin_yield();
    neighbours++;
}

struct from_another {
    struct fin_awe *a;
    enum way way;
    int result;
};

static void *elsewhere(void *arg) {
    struct from_another *f = arg;
    f->result = resume(f->way, f->a);
    return NULL;
}

static int from_another(enum way way, struct fin_awe *a) {
    struct from_another f = {.a = a, .way = way};
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, elsewhere, &f), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    return f.result;
}

static void one(enum state state, enum way way, bool other) {
    resumed = neighbours = 0;
    fin_finish {
        fin_async_call(waits, NULL);
        if (state == QUEUED_LATER)
            fin_async_call(neighbour, NULL);
        if (state != SUSPENDED && state != GONE)
            CHECK_EQ(fin_schedule(awe), 0);
        struct fin_awe copy = *awe;
        if (state == GONE) {
            CHECK_EQ(fin_schedule(awe), 0);
            fin_yield();
            CHECK_EQ(resumed, 1);
        }
        int r = other ? from_another(way, &copy) : resume(way, &copy);
        bool told = r == -EINVAL || r == -EALREADY;
        if (!told && !(other && r == 0 && way != NAME)) {
            fprintf(stderr, "state %d, way %d, from %s thread: %d\n", state, way, other ? "another" : "its", r);
            _Exit(1);
        }
        for (int i = 0; i < 200; i++)
            fin_yield(); // what came from the other thread is looked at, now and then
        if (state == SUSPENDED)
            CHECK_EQ(fin_schedule(awe), 0);
    }
    CHECK_EQ(resumed, 1);
    CHECK_EQ(neighbours, state == QUEUED_LATER);
}

int main(void) {
    for (enum way way = 0; way < NAME; way++) {
        CHECK_EQ(resume(way, NULL), -EINVAL);
        CHECK_EQ(from_another(way, NULL), -EINVAL);
        fin_finish {
            fin_async_call(waits, NULL); // the fast ways, and where an async is pending
            CHECK_EQ(resume(way, NULL), -EINVAL);
            CHECK_EQ(fin_schedule(awe), 0);
        }
    }
    for (enum state state = 0; state < STATES; state++)
        for (enum way way = 0; way < WAYS; way++)
            for (int other = 0; other < 2; other++)
                one(state, way, other);
    return 0;
}
