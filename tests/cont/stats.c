// SPDX-License-Identifier: BSD-2-Clause
// Each block is counted once, under what it was for and how it waited; FIN_STATS=1 prints the sums of all threads.
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

enum { N = 100 };

static struct fin_sem s = FIN_SEM_INIT(0);
static struct fin_awe *slot;
static struct fin_on on;
static struct fin_sync_on sync_on;

// One AWE: N turns, then one of each kind.
static void over(void *p, int result) {
    (void)p;
    CHECK_EQ(result, 0);
    fin_cont_end();
}
static void blocks(void *p, int result) {
    CHECK_EQ(result, 0);
    slot = fin_awe_self();
    fin_block_on(over, p, 0);
}
static void waits(void *p, int result) {
    CHECK_EQ(result, 0);
    fin_sem_wait_on(&s, &sync_on, blocks, p, 0);
}
static void turns(void *p, int result) {
    int n = *(int *)p;
    CHECK_EQ(result, 0);
    if (n-- == 0)
        fin_sleep_on(&on, 1000, waits, p, 0);
    fin_yield_on(turns, &n, sizeof n);
}

static void with_stack(void *p) {
    (void)p;
    fin_suspend(&slot);
    CHECK_EQ(fin_sem_wait(&s), 0);
    CHECK_EQ(fin_sleep(1000), 0);
    CHECK_EQ(fin_sleep(1000), 0);
}

static __thread unsigned yields;
static void yield(void) {
    yields++;
    fin_yield();
}

static void until(struct fin_sem *sem) {
    while (!__atomic_load_n(&sem->waiters.first, __ATOMIC_RELAXED))
        yield();
}

static void all_kinds(void *unused) {
    (void)unused;
    int n = N;
    fin_finish {
        slot = NULL;
        fin_async_cont(turns, &n, sizeof n);
        until(&s);
        fin_sem_post(&s);
        while (!slot)
            yield();
        fin_schedule(slot);
    }
    fin_finish {
        fin_async_eager_call(with_stack, NULL);
        fin_schedule(slot);
        until(&s);
        fin_sem_post(&s);
    }
}

#define BLOCKS(reason, stack, cont)                                                                                         \
    do {                                                                                                                    \
        CHECK_EQ(t.blocks[reason].with_stack, stack);                                                                       \
        CHECK_EQ(t.blocks[reason].with_continuation, cont);                                                                 \
        CHECK(t.blocks[reason].handed_off <= t.blocks[reason].with_continuation);                                           \
        CHECK(t.blocks[reason].recognized <= t.blocks[reason].with_continuation);                                           \
    } while (0)

static void counted(void) {
    struct fin_stats t;
    fin_stats_clear();
    yields = 0;
    all_kinds(NULL);
    fin_stats(&t);
    BLOCKS(FIN_FOR_PROGRAM, 1, 1);
    CHECK(yields > 0);
    BLOCKS(FIN_FOR_TURN, yields, N);
    BLOCKS(FIN_FOR_FINISH, 2, 0);
    BLOCKS(FIN_FOR_SYNC, 1, 1);
    BLOCKS(FIN_FOR_TIME, 2, 1);
    BLOCKS(FIN_FOR_IO, 0, 0);
    BLOCKS(FIN_FOR_MESSAGE, 0, 0);
    CHECK_EQ(t.compressed, N + 3);
    CHECK_EQ(t.suspended, 4);
    CHECK(t.switches >= N + 3 + 4 + 2);
    CHECK(t.stacks_samples > 0 && t.stacks_most >= 2 && t.stacks_sum >= t.stacks_samples);
    fin_stats_clear();
    fin_stats(&t);
    CHECK(t.switches == 0 && t.compressed == 0 && t.blocks[FIN_FOR_FINISH].with_stack == 0);
}

// In a process of its own: two threads one after the other, and the main one.
static void child(void) {
    for (int i = 0; i < 2; i++) {
        struct fin_thread_handle h;
        CHECK_EQ(fin_thread_start(&h, all_kinds, NULL), 0);
        fin_thread_join_nc(&h);
    }
    all_kinds(NULL);
}

static uint64_t of_line(const char *text, const char *name) {
    const char *line = strstr(text, name);
    CHECK(line != NULL);
    return strtoull(line + strlen(name), NULL, 10);
}

// Pre: nothing of Fin has been used.
static void printed(void) {
    char text[8192];
    int ends[2], status;
    size_t size = 0;
    CHECK(pipe(ends) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        setenv("FIN_STATS", "1", 1);
        dup2(ends[1], 2);
        child();
        exit(0);
    }
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], text + size, sizeof text - 1 - size)) > 0;)
        size += (size_t)n;
    text[size] = 0;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    CHECK(of_line(text, "fin: a turn") > 3 * N);
    CHECK_EQ(of_line(text, "fin: the end of a finish block"), 3 * 2);
    CHECK(of_line(text, "fin: sync objects") >= 3 * 2); // the main thread may wait for the others
    CHECK_EQ(of_line(text, "fin: time"), 3 * 3);
    CHECK_EQ(of_line(text, "fin: the program's own"), 3 * 2);
    CHECK_EQ(of_line(text, "fin: all"), 3 * 7 + of_line(text, "fin: a turn") + of_line(text, "fin: sync objects"));
    double average;
    unsigned long long most;
    const char *stacks = strstr(text, "fin: stacks in use of a thread: ");
    CHECK(stacks && sscanf(stacks, "fin: stacks in use of a thread: %lf on average, %llu at most", &average, &most) == 2);
    CHECK(average >= 1 && most >= 2 && (double)most >= average);
}

int main(void) {
    printed();
    counted();
    return 0;
}
