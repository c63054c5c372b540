// SPDX-License-Identifier: BSD-2-Clause
// fin_offload: the function runs on another thread while the caller's other work goes on; at most as many at a time as are
// allowed, the others in the order of their calls; a cancelled one ran or did not, as its result says; signals stay away.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>

#include "net.h"

enum { JOBS = 200, RACES = 2000 };

static pthread_t main_thread;
static int at_once, most_at_once, order[JOBS], begun;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void elsewhere(void *arg) {
    sigset_t blocked;
    CHECK(!pthread_equal(pthread_self(), main_thread));
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &blocked), 0);
    CHECK(sigismember(&blocked, SIGALRM) && sigismember(&blocked, SIGPIPE) && sigismember(&blocked, SIGTERM));
    CHECK(!sigismember(&blocked, SIGSEGV) && !sigismember(&blocked, SIGBUS));
    *(int *)arg = 1;
}

static void counted(void *number) {
    pthread_mutex_lock(&lock);
    order[begun++] = (int)(intptr_t)number;
    at_once++;
    if (at_once > most_at_once)
        most_at_once = at_once;
    bool early = begun < JOBS / 2;
    pthread_mutex_unlock(&lock);
    if (early)
        usleep(50);
    pthread_mutex_lock(&lock);
    at_once--;
    pthread_mutex_unlock(&lock);
}

static void offload_counted(void *number) { CHECK_EQ(fin_offload(counted, number), 0); }

static void many(unsigned threads) {
    begun = at_once = most_at_once = 0;
    CHECK(fin_offload_threads(threads) > 0);
    CHECK_EQ(fin_offload_threads(0), threads);
    fin_finish {
        for (intptr_t i = 0; i < JOBS; i++)
            fin_async_call(offload_counted, (void *)i);
    }
    CHECK_EQ(begun, JOBS);
    CHECK(most_at_once <= (int)threads);
    if (threads == 1)
        for (int i = 0; i < JOBS; i++)
            CHECK_EQ(order[i], i);
}

// The thread is not blocked: what the function waits for is sent by another AWE.
static int fd[2];
static void wait_for_byte(void *arg) { CHECK_EQ(read(fd[0], arg, 1), 1); }

static void overlaps(void) {
    static char c;
    c = 0;
    fin_finish {
        fin_async { CHECK_EQ(fin_offload(wait_for_byte, &c), 0); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(write(fd[1], "x", 1), 1);
    }
    CHECK_EQ(c, 'x');
}

// One that has begun is waited for, one that has not does not begin.
static void cancelled(void) {
    static char c[2];
    fin_shared int first = 1, second = 1, third = 1;
    CHECK(fin_offload_threads(1) > 0);
    fin_finish_as(all) {
        fin_async { first = fin_offload(wait_for_byte, c); };
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0); // a thread has it by now, or takes it out of order with nothing
        fin_async { second = fin_offload(wait_for_byte, c + 1); };
        fin_cancel_as(all);
        third = fin_offload(wait_for_byte, c + 1);
        CHECK_EQ(write(fd[1], "y", 1), 1);
    }
    CHECK_EQ(second, -ECANCELED);
    CHECK_EQ(third, -ECANCELED);
    CHECK_EQ(c[1], 0);
    if (first == 0)
        CHECK_EQ(c[0], 'y');
    else
        CHECK(read(fd[0], c, 1) == 1 && first == -ECANCELED);
}

static void ran(void *arg) { __atomic_add_fetch((int *)arg, 1, __ATOMIC_RELAXED); }

static int said;
static void race_one(void *counter) {
    int r = fin_offload(ran, counter);
    CHECK(r == 0 || r == -ECANCELED);
    said += r == 0;
}

static void races(void) {
    static int counter;
    unsigned seed = 3;
    counter = said = 0;
    CHECK(fin_offload_threads(2) > 0);
    for (int i = 0; i < (getenv("FIN_FEW") ? RACES / 20 : RACES); i++) {
        fin_finish {
            for (int k = 0; k < 4; k++)
                fin_async_call(race_one, &counter);
            for (unsigned n = next_random(&seed) % 40; n; n--)
                fin_yield();
            if (next_random(&seed) % 4 == 0)
                CHECK_EQ(fin_sleep_nc(next_random(&seed) % 30 * FIN_US), 0);
            fin_cancel();
        }
        CHECK_EQ(__atomic_load_n(&counter, __ATOMIC_RELAXED), said);
    }
    CHECK(said > 0);
}

static void shielded(void) {
    int n = 0;
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_offload_nc(ran, &n), 0);
        CHECK_EQ(fin_offload(ran, &n), -ECANCELED);
    }
    CHECK_EQ(n, 1);
}

int main(void) {
    int n = 0;
    main_thread = pthread_self();
    CHECK_EQ(fin_offload_threads(5000), -EINVAL);
    CHECK_EQ(fin_offload(elsewhere, &n), 0);
    CHECK_EQ(n, 1);
    stream_pair(fd);
    many(1);
    many(7);
    many(2);
    overlaps();
    cancelled();
    races();
    shielded();
    close(fd[0]);
    close(fd[1]);
    return 0;
}
