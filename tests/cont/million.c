// SPDX-License-Identifier: BSD-2-Clause
// A million AWEs wait in one finish block, at 128 bytes at most and no stack each; then every one of them is woken once.
#include <stdlib.h>
#include <string.h>

#include <fin.h>

#include "check.h"

static long count, woken;
static struct fin_awe **all;

static void end(void *p, int result) {
    CHECK_EQ(result, 0);
    woken += *(long *)p;
    fin_cont_end();
}

static void wait(void *p, int result) {
    (void)result;
    long one = 1;
    all[*(long *)p] = fin_awe_self();
    fin_block_on(end, &one, sizeof one);
}

static long resident(void) {
    long pages = 0, all_pages;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &all_pages, &pages) != 2)
        SKIP("no /proc/self/statm");
    fclose(f);
    return pages * 4096;
}

int main(void) {
    count = getenv("FIN_FEW") || FIN_SANITIZED ? 20000 : 1000000;
    all = malloc((size_t)count * sizeof *all);
    memset(all, 1, (size_t)count * sizeof *all); // its pages are not to be counted below
    fin_finish { fin_yield(); }
    long before = resident();
    fin_finish {
        for (long i = 0; i < count; i++)
            CHECK(fin_async_cont(wait, &i, sizeof i) != NULL);
        fin_yield();
        long each = (resident() - before) / count;
        fprintf(stderr, "%ld bytes each\n", each);
        CHECK(FIN_SANITIZED || count < 1000000 || each <= 128);
        struct fin_stats stats;
        fin_stats(&stats);
        CHECK_EQ(stats.stacks_used, 1);
        for (long i = 0; i < count; i++)
            CHECK_EQ(fin_schedule(all[i]), 0);
    }
    CHECK_EQ(woken, count);
    free(all);
    return 0;
}
