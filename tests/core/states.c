// SPDX-License-Identifier: BSD-2-Clause
// What each way to resume an AWE says of one in each state, from its own thread and from another: an error code, never a
// crash, and nothing runs twice. A yield to an AWE that may run makes it run, also where it is queued or saved.
#include <pthread.h>
#include <string.h>

#include <fin.h>

#include "check.h"

enum state { SUSPENDED, QUEUED, WOKEN, SAVED, RUNNING, FINISHED, FORGED, STATES };
enum way { SCHEDULE, FRONT, YIELD_TO, NAME, WAYS };

static const char *const names[STATES] = {"suspended", "queued", "woken", "saved", "running", "finished", "forged"};

// From its own thread; and from another.
static const int expected[2][STATES][WAYS] = {
    {
        [SUSPENDED] = {0, 0, 0, 0},
        [QUEUED] = {-EALREADY, -EALREADY, 0, 0},
        [WOKEN] = {-EALREADY, -EALREADY, 0, 0},
        [SAVED] = {-EALREADY, -EALREADY, 0, 0},
        [RUNNING] = {-EALREADY, -EALREADY, -EALREADY, -EINVAL},
        [FINISHED] = {-EALREADY, -EALREADY, -EALREADY, -EINVAL},
        [FORGED] = {-EINVAL, -EINVAL, -EINVAL, -EINVAL},
    },
    {
        [SUSPENDED] = {0, 0, 0, -EINVAL},
        [QUEUED] = {-EALREADY, -EALREADY, -EALREADY, -EINVAL},
        [WOKEN] = {-EALREADY, -EALREADY, -EALREADY, -EINVAL},
        [SAVED] = {-EALREADY, -EALREADY, -EALREADY, -EINVAL},
        [RUNNING] = {-EALREADY, -EALREADY, -EALREADY, -EINVAL},
        [FINISHED] = {-EALREADY, -EALREADY, -EALREADY, -EINVAL},
        [FORGED] = {-EINVAL, -EINVAL, -EINVAL, -EINVAL},
    },
};

static struct fin_awe *awe, old;
static uint32_t saved;
static int resumed;
static enum way way;

static __attribute__((noinline)) int go(void) {
    uint32_t id;
    int r = 0;
    switch (way) {
    case SCHEDULE: return fin_schedule(awe);
    case FRONT: return fin_schedule_front(awe);
    case YIELD_TO: return fin_yield_to(awe);
    default:
        CHECK_EQ(fin_awe_id_create(&id), 0);
        r = fin_awe_id_set(id, awe);
        CHECK(fin_awe_id_get(id) == (r == 0 ? awe : NULL));
        CHECK_EQ(fin_awe_id_remove(id), 0);
        return r;
    }
}

static void *elsewhere(void *result) {
    *(int *)result = go();
    return NULL;
}

static void *wake(void *unused) {
    CHECK_EQ(fin_schedule(awe), 0);
    return unused;
}

static void on_a_thread(void *(*fn)(void *), void *arg) {
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, fn, arg), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
}

static __attribute__((noinline)) void tries(enum state state, bool other) {
    int r, want = expected[other][state][way];
    if (other)
        on_a_thread(elsewhere, &r);
    else
        r = go();
    if (r != want) {
        fprintf(stderr, "%s, way %d, from %s thread: %d, not %d\n", names[state], (int)way, other ? "another" : "its", r,
                want);
        _Exit(1);
    }
}

struct test {
    enum state state;
    bool other;
};

// What is left of an AWE that ended, where nothing has been written over it.
static __attribute__((noinline)) void keep(void) {
    old = *awe;
    awe = &old;
}

static void body(void *p) {
    const struct test *t = p;
    if (t->state == SAVED)
        CHECK_EQ(fin_yield_and_save_no_dispatch(saved), 0);
    else
        fin_suspend(&awe);
    resumed++;
    // its frame is still there
    if (t->state == RUNNING)
        tries(RUNNING, t->other);
    if (t->state == FINISHED)
        keep();
    __asm__ volatile("" : : : "memory");
}

static void one(enum state state, bool other) {
    struct test t = {state, other};
    struct fin_awe forged;
    memset(&forged, 0x5a, sizeof forged);
    resumed = 0;
    fin_finish {
        if (state == FORGED)
            awe = &forged;
        else
            fin_async_call(body, &t);
        if (state == SAVED)
            awe = fin_awe_id_get(saved);
        if (state == QUEUED || state == RUNNING || state == FINISHED)
            CHECK_EQ(fin_schedule(awe), 0);
        if (state == WOKEN)
            on_a_thread(wake, NULL);
        if (state == FINISHED)
            fin_yield();
        if (state != RUNNING)
            tries(state, other);
        if (state == SAVED && resumed == 0)
            CHECK_EQ(fin_yield_to(awe), 0);
        if (state == SUSPENDED && way == NAME)
            CHECK_EQ(fin_schedule(awe), 0);
    }
    CHECK_EQ(resumed, state != FORGED);
}

int main(void) {
    CHECK_EQ(fin_awe_id_create(&saved), 0);
    for (way = 0; way < WAYS; way++)
        for (int state = 0; state < STATES; state++)
            for (int other = 0; other < 2; other++)
                one((enum state)state, other);
    return 0;
}
