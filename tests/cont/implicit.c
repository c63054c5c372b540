// SPDX-License-Identifier: BSD-2-Clause
// A step is ordinary code: it may block with its stack, open finish blocks, be yielded to, and have an id.
#include <string.h>

#include <fin.h>
#include <fin/thc.h>

#include "check.h"

static struct fin_mutex mutex = FIN_MUTEX_INIT;
static int inside, most;

static void add(void *n) {
    fin_yield();
    ++*(int *)n;
}

static void adds(void *p, int result) {
    CHECK_EQ(result, 0);
    ++**(int **)p;
    fin_cont_end();
}

static void works(void *p, int result) {
    long *round = p;
    CHECK_EQ(result, 0);
    fin_mutex_lock_nc(&mutex); // blocks with the stack
    if (++inside > most)
        most = inside;
    fin_yield();
    inside--;
    fin_mutex_unlock(&mutex);
    int n = 0, *to = &n;
    fin_finish {
        for (int i = 0; i < 3; i++)
            fin_async_call(add, &n);
        fin_async_cont(adds, &to, sizeof to);
    }
    CHECK_EQ(n, 4);
    if (++*round >= 4)
        fin_cont_end();
    CHECK_EQ(fin_sleep(1000), 0);
    fin_yield_on(works, round, sizeof *round);
}

static struct fin_awe *self;

static void waits(void *p, int result) {
    LOG("%s%d ", *(const char **)p, result);
    self = fin_awe_self();
    if (result < 0)
        fin_cont_end();
    fin_block_on(waits, p, sizeof p);
}

static void by_id(void) {
    uint32_t id;
    CHECK_EQ(fin_awe_id_create(&id), 0);
    fin_finish {
        const char *name = "id";
        fin_async_cont(waits, &name, sizeof name);
        fin_yield();
        CHECK_EQ(fin_awe_id_set(id, self), 0);
        CHECK(fin_awe_id_get(id) == self);
        CHECK_EQ(fin_yield_to_id(id), 0);
        CHECK(fin_awe_id_get(id) == NULL); // it ran
        CHECK_EQ(fin_yield_to_id(id), -ESRCH);
        CHECK_EQ(fin_yield_to(self), 0);
        CHECK_EQ(fin_awe_id_set(id, self), 0);
        CHECK_EQ(fin_schedule(self), 0);
        CHECK_EQ(fin_yield_to_id(id), 0); // queued: it runs out of its turn
        fin_cancel();
    }
    CHECK_LOG("id0 id0 id0 id0 id-125 ");
    CHECK_EQ(fin_awe_id_remove(id), 0);
}

static void ends_by_other_means(void *p, int result) {
    (void)p;
    (void)result;
    fin_finish { fin_async_call(add, &inside); }
    THCFinish();
    CHECK(false);
}

int main(void) {
    fin_finish {
        for (long i = 0; i < 20; i++) {
            long zero = 0;
            CHECK(fin_async_cont(works, &zero, sizeof zero) != NULL);
        }
    }
    CHECK_EQ(most, 1);
    by_id();
    inside = 0;
    fin_finish {
        fin_async_cont(ends_by_other_means, NULL, 0);
    }
    CHECK_EQ(inside, 1);
    struct fin_stats stats;
    fin_stats(&stats);
    CHECK_EQ(stats.stacks_used, 1);
    return 0;
}
