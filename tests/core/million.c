// SPDX-License-Identifier: BSD-2-Clause
// A million simultaneously blocked AWEs in one finish block, each at most a page and 256 bytes, page tables included.
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

static long kib_of(const char *file, const char *key) {
    char line[256];
    long kib = -1;
    FILE *f = fopen(file, "r");
    CHECK(f != NULL);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtol(line + strlen(key), NULL, 10);
    fclose(f);
    return kib;
}

static long status_kib(const char *key) { return kib_of("/proc/self/status", key); }

// Has another thread wake the AWE, so that this one goes idle.
static void *wake(void *slot) {
    CHECK_EQ(fin_schedule(*(struct fin_awe **)slot), 0);
    return NULL;
}
static void wake_later(void *slot) {
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, wake, slot), 0);
    pthread_detach(t);
}

enum { MOST = 1000000, AGAIN = 1000 };
static struct fin_awe *awes[MOST];
static long blocked, resumed;

static void waits(void *slot) {
    blocked++;
    fin_suspend(slot);
    resumed++;
}

// The thread has nothing to run, and memory of stacks goes back to the system: of how many so far. (The wake may come before
// the thread is idle.)
static uint64_t idle(void) {
    struct fin_awe *self;
    struct fin_stats stats;
    fin_stats(&stats);
    uint64_t slept = stats.slept;
    do {
        fin_suspend_then(&self, wake_later, &self);
        fin_stats(&stats);
    } while (stats.slept == slept);
    return stats.stacks_released;
}

int main(void) {
    const long n = FIN_SANITIZED || getenv("FIN_FEW") ? 2000 : MOST, page = sysconf(_SC_PAGESIZE);
    if (kib_of("/proc/meminfo", "MemAvailable:") < (n + n / 4) * (page / 1024))
        SKIP("not enough free memory for a million stacks");
    memset(awes, 1, sizeof awes); // the array itself is not what is measured
    long before = 0, during = 0;
    fin_finish {
        fin_yield();
        before = status_kib("VmRSS:") + status_kib("VmPTE:");
        for (long i = 0; i < n; i++)
            fin_async_call(waits, &awes[i]);
        during = status_kib("VmRSS:") + status_kib("VmPTE:");
        CHECK_EQ(blocked, n);
        CHECK_EQ(resumed, 0);
        for (long i = 0; i < n; i++)
            CHECK_EQ(fin_schedule(awes[i]), 0);
    }
    CHECK_EQ(resumed, n);
    struct fin_stats stats;
    fin_stats(&stats);
    double each = (double)(during - before) * 1024 / (double)n;
    fprintf(stderr, "%.0f bytes each, %llu stacks unguarded\n", each, (unsigned long long)stats.unguarded);
    if (n == MOST)
        CHECK(each <= (double)page + 256);

    CHECK(idle() >= (uint64_t)n - 1000);
    if (n == MOST)
        CHECK(status_kib("VmRSS:") < before + 50 * 1024);

    // and again, where all have been in use between two such moments
    fin_stats(&stats);
    uint64_t released = stats.stacks_released;
    fin_finish {
        for (long i = 0; i < AGAIN; i++)
            fin_async_call(waits, &awes[i]);
        for (long i = 0; i < AGAIN; i++)
            CHECK_EQ(fin_schedule(awes[i]), 0);
    }
    usleep(150000); // more often it is not done
    CHECK(idle() >= released + AGAIN - 100);
    return 0;
}
