// SPDX-License-Identifier: BSD-2-Clause
// Two want to make an AWE run, and the second comes when the AWE's thread has ended: it is told so. The address space of
// threads that have ended is used again.
#include <errno.h>

#include <fin.h>

#include "process.h"

enum { EACH = 40, THREADS = 100 };

static struct fin_awe *lazy[EACH], *explicit[EACH];
static unsigned ended;

static void waits(void *slot) {
    fin_suspend(slot);
    ended++;
}

static void goes_on(void *state, int result) {
    (void)state, (void)result;
    ended++;
    fin_cont_end();
}

static void waits_without_stack(void *slot, int result) {
    (void)result;
    **(struct fin_awe ***)slot = fin_awe_self();
    fin_block_on(goes_on, NULL, 0);
}

static void lives(void *unused) {
    (void)unused;
    fin_finish {
        for (int i = 0; i < EACH; i++) {
            struct fin_awe **slot = &explicit[i];
            fin_async_call(waits, &lazy[i]);
            fin_async_cont(waits_without_stack, &slot, sizeof slot);
        }
        fin_yield();
        for (int i = 0; i < EACH; i++) {
            CHECK_EQ(fin_schedule(lazy[i]), 0);
            CHECK_EQ(fin_schedule(explicit[i]), 0);
        }
    }
}

static void one_thread(void) {
    struct fin_thread_handle t;
    ended = 0;
    CHECK_EQ(fin_thread_start(&t, lives, NULL), 0);
    fin_thread_join_nc(&t);
    CHECK_EQ(ended, 2 * EACH);
}

static void is_told(struct fin_awe *a) {
    uint32_t id;
    CHECK_EQ(fin_schedule(a), -EINVAL);
    CHECK_EQ(fin_schedule_front(a), -EINVAL);
    CHECK_EQ(fin_yield_to(a), -EINVAL);
    CHECK(fin_cont_of(a) == NULL);
    CHECK_EQ(fin_awe_id_create(&id), 0);
    CHECK_EQ(fin_awe_id_set(id, a), -EINVAL);
    CHECK_EQ(fin_awe_id_remove(id), 0);
}

static long pages(void) {
    long n = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%ld", &n) == 1);
    fclose(f);
    return n;
}

int main(void) {
    if (on_valgrind())
        SKIP("valgrind reports who looks at an AWE that is over");
    one_thread();
    for (int i = 0; i < EACH; i++) {
        is_told(lazy[i]);
        is_told(explicit[i]);
    }
    long before = pages();
    for (int i = 0; i < THREADS; i++)
        one_thread();
    CHECK(pages() < before + before / 2);
    return 0;
}
