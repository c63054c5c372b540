// SPDX-License-Identifier: BSD-2-Clause
// A thread takes over the runtime of one that has ended, the last one to end, without a look at those of the threads that
// live. No two threads ever have the same one, and no more are made than there are threads at a time.
#include <fin.h>

#include "check.h"

#include "core/runtime.h"

enum { THREADS = 8, ROUNDS = 300, MOST = 64 };

struct one {
    struct fin_thread_handle thread;
    struct fin_event begun, go;
    struct fin_runtime *rt;
};

static void has_one(void *arg) {
    struct one *o = arg;
    o->rt = fin_here();
    fin_event_advance(&o->begun, 1);
    fin_event_await_nc(&o->go, 1);
}

static void begin(struct one *o) {
    fin_event_init(&o->begun);
    fin_event_init(&o->go);
    CHECK_EQ(fin_thread_start(&o->thread, has_one, o), 0);
    fin_event_await_nc(&o->begun, 1);
}

static void end(struct one *o) {
    fin_event_advance(&o->go, 1);
    fin_thread_join_nc(&o->thread);
}

static void the_last_to_end(void) {
    static struct one all[THREADS], next[3];
    static const int order[] = {5, 0, 2};
    for (int i = 0; i < THREADS; i++)
        begin(&all[i]);
    for (int i = 0; i < 3; i++)
        end(&all[order[i]]);
    for (int i = 0; i < 3; i++) {
        begin(&next[i]);
        CHECK(next[i].rt == all[order[2 - i]].rt);
    }
    for (int i = 0; i < THREADS; i++)
        if (i != order[0] && i != order[1] && i != order[2])
            end(&all[i]);
    for (int i = 0; i < 3; i++)
        end(&next[i]);
}

static uint32_t in_use[MOST];

static void is_alone(void *unused) {
    (void)unused;
    uint32_t number = (fin_here()->tag - (uint32_t)FIN_AWE_WAITS) / FIN_AWE_RUNTIME;
    CHECK(number < MOST);
    CHECK_EQ(__atomic_fetch_add(&in_use[number], 1, __ATOMIC_RELAXED), 0);
    CHECK_EQ(__atomic_fetch_sub(&in_use[number], 1, __ATOMIC_RELAXED), 1);
}

static void starts_others(void *unused) {
    const int rounds = getenv("FIN_FEW") ? ROUNDS / 10 : ROUNDS;
    for (int i = 0; i < rounds; i++) {
        struct fin_thread_handle t;
        CHECK_EQ(fin_thread_start(&t, is_alone, unused), 0);
        fin_thread_join_nc(&t);
    }
}

int main(void) {
    struct fin_thread_handle t[THREADS];
    fin_finish {
        the_last_to_end();
        for (int i = 0; i < THREADS; i++)
            CHECK_EQ(fin_thread_start(&t[i], starts_others, NULL), 0);
        for (int i = 0; i < THREADS; i++)
            fin_thread_join_nc(&t[i]);
    }
    CHECK(fin_runtime_count <= 2 * THREADS + 1);
    return 0;
}
