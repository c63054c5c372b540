// SPDX-License-Identifier: BSD-2-Clause
// A loop that is not Fin's, around poll(2), which knows of AWEs no more than a descriptor: they get all that they wait for.
#include <sys/epoll.h>
#include <sys/resource.h>

#include "embed.h"
#include "net.h"

static FIN_BLOCKING void is_cancelled(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sleep(60 * FIN_S), -ECANCELED);
    done++;
}

// A time that comes, and one that is taken back once, is all that wakes the loop.
static void times(void) {
    done = 0;
    fin_finish {
        for (uintptr_t ms = 9; ms > 0; ms--)
            fin_async_call(sleeps, (void *)ms);
        loop_until(9);
    }
    CHECK(rounds <= 100);
    done = 0;
    fin_finish {
        fin_async_call(is_cancelled, NULL);
        CHECK_EQ(fin_embed_run(), 0);
        fin_async {
            fin_timeout(60 * FIN_S) {
                CHECK_EQ(fin_sleep(2 * FIN_MS), 0);
            }
            fin_cancel();
        };
        loop_until(1);
    }
    CHECK(rounds <= 100);
    settle();
}

static int pair[2];

static FIN_BLOCKING void echoes(void *unused) {
    char c[8];
    (void)unused;
    for (ssize_t n; (n = fin_recv(pair[0], c, sizeof c, 0)) > 0;)
        CHECK_EQ(fin_send(pair[0], c, (size_t)n, 0), n);
    done++;
}

static void descriptors(void) {
    char c;
    struct pollfd p[2];
    stream_pair(pair);
    p[1] = (struct pollfd){.fd = pair[1], .events = POLLIN};
    fin_finish {
        done = 0;
        fin_async_call(echoes, NULL);
        settle();
        for (int i = 0; i < 50; i++) {
            CHECK_EQ(write(pair[1], "x", 1), 1);
            p[0] = (struct pollfd){.fd = fin_embed_fd(), .events = POLLIN};
            do {
                CHECK(poll(p, 2, 20000) > 0);
                CHECK_EQ(fin_embed_run(), 0);
            } while (!(p[1].revents & POLLIN));
            CHECK_EQ(read(pair[1], &c, 1), 1);
        }
        settle();
        CHECK_EQ(shutdown(pair[1], SHUT_WR), 0);
        loop_until(1);
    }
    close(pair[0]);
    close(pair[1]);
}

static struct fin_event event = FIN_EVENT_INIT;
static struct fin_finish_block *work;

static FIN_BLOCKING void waits(void *count) {
    CHECK_EQ(fin_event_await(&event, (uintptr_t)count), 0);
    done++;
}

static void advances(void *unused) {
    (void)unused;
    fin_event_advance(&event, 1);
}

static void computes(void *result) { *(int *)result = 7; }

// What callbacks do to AWEs, and what others do: threads, the pool.
static void callbacks(void) {
    struct fin_thread_handle t;
    static int result;
    event = (struct fin_event)FIN_EVENT_INIT;
    done = 0;
    fin_finish {
        work = fin_this_block();
        fin_async_in(work, waits, (void *)1);
        fin_async_in(work, waits, (void *)2);
        fin_async {
            CHECK_EQ(fin_offload(computes, &result), 0);
            done++;
        };
        CHECK_EQ(fin_embed_run(), 0);
        fin_event_advance(&event, 1);
        loop_until(2);
        CHECK_EQ(result, 7);
        CHECK_EQ(fin_thread_start(&t, advances, NULL), 0);
        loop_until(3);
        fin_thread_join_nc(&t);
        fin_async_in(work, waits, (void *)3);
        CHECK_EQ(fin_sleep(FIN_MS), 0); // the loop waits for a callback that blocks; AWEs run meanwhile
        fin_async_in(work, advances, NULL);
        loop_until(4);
    }
    CHECK_EQ(done, 4);
}

// Who never stops does not keep the loop from its own.
static void busy(void) {
    static bool stop;
    done = 0;
    fin_finish {
        fin_async {
            while (!stop)
                fin_yield();
            done++;
        };
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(fin_embed_run(), 0);
            CHECK(readable(20000));
        }
        stop = true;
        loop_until(1);
    }
    settle();
}

// In an epoll, as the descriptor of a loop may be.
static void in_epoll(void) {
    struct epoll_event e = {.events = EPOLLIN};
    int around = epoll_create1(EPOLL_CLOEXEC), outer = epoll_create1(EPOLL_CLOEXEC);
    CHECK_EQ(epoll_ctl(around, EPOLL_CTL_ADD, fin_embed_fd(), &e), 0);
    CHECK_EQ(epoll_ctl(outer, EPOLL_CTL_ADD, around, &e), 0);
    done = 0;
    stream_pair(pair);
    fin_finish {
        fin_async_call(sleeps, (void *)2);
        fin_async_call(echoes, NULL);
        CHECK_EQ(fin_embed_run(), 0);
        if (done == 0) // the machine may have taken its time in between
            CHECK_EQ(epoll_wait(outer, &e, 1, 20000), 1);
        loop_until(1);
        CHECK_EQ(close(pair[1]), 0);
        CHECK_EQ(epoll_wait(outer, &e, 1, 20000), 1);
        loop_until(2);
    }
    close(pair[0]);
    close(around);
    close(outer);
}

// Each thread has its own, which goes with it.
static void threads(void) {
    struct fin_thread_handle t;
    int before = open_descriptors(), fd;
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(fin_thread_start(&t, in_thread, &fd), 0);
        fin_thread_join_nc(&t);
        CHECK(fd != fin_embed_fd());
        CHECK_EQ(open_descriptors(), before);
    }
}

// Those that are due within it share a turn of the loop; one that is never due wakes nobody.
static void slack(void) {
    CHECK_EQ(fin_timer_slack(50 * FIN_MS), 0);
    done = 0;
    fin_finish {
        for (uintptr_t ms = 1; ms < 20; ms++)
            fin_async_call(sleeps, (void *)ms);
        loop_until(19);
    }
    CHECK(rounds <= 10);
    fin_finish {
        fin_async { CHECK_EQ(fin_sleep_until(UINT64_MAX - 1), -ECANCELED); };
        CHECK_EQ(fin_embed_run(), 0);
        readable(1); // the timer of before may go off
        settle();
        fin_cancel();
    }
    CHECK_EQ(fin_timer_slack(0), 0);
}

enum { MANY = 300 };
static struct fin_sem sem = FIN_SEM_INIT(0);

static FIN_BLOCKING void takes_stack(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sem_wait(&sem), 0);
}

// As where the thread sleeps by itself, memory of stacks that nobody uses is given back.
static void trims(void) {
    struct fin_stats stats;
    fin_stats(&stats);
    uint64_t before = stats.stacks_released;
    fin_finish {
        for (int i = 0; i < MANY; i++)
            fin_async_eager_call(takes_stack, NULL);
        for (int i = 0; i < MANY; i++)
            fin_sem_post(&sem);
    }
    for (int i = 0; stats.stacks_released < before + MANY / 2; i++) {
        CHECK(i < 5000);
        CHECK_EQ(fin_embed_run(), 0);
        readable(1);
        fin_stats(&stats);
    }
}

// Of the thread's I/O through a ring nothing is taken away.
static void asked_late(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sleep(1), 0);
    bool ring = strncmp(fin_io_backend(), "io_uring", 8) == 0;
    int fd = fin_embed_fd(), run = fin_embed_run();
    CHECK(ring ? fd == -EBUSY && run == -EBUSY : fd >= 0 && run == 0);
    CHECK_EQ(fin_sleep(1), 0);
}

// The process has none left for it, or one too few.
static void has_none(void *unused) {
    struct rlimit before, few;
    (void)unused;
    int own = open_descriptors(), lowest = dup(0);
    close(lowest);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (int more = 0; more < 3; more++) { // what wakes it, an epoll, a timer
        few = (struct rlimit){(rlim_t)(lowest + more), before.rlim_max};
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
        int fd = fin_embed_fd(), run = fin_embed_run();
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
        CHECK(fd == -EMFILE && run == -EMFILE);
        CHECK_EQ(open_descriptors(), more < 2 ? own : own + 2); // which the thread needs for itself
    }
    CHECK(fin_embed_fd() >= 0);
    CHECK_EQ(open_descriptors(), own + 3);
}

int main(void) {
    struct fin_thread_handle t;
    CHECK(fin_embed_fd() >= 0); // first
    CHECK(strstr(fin_io_backend(), "epoll, because"));
    times();
    descriptors();
    callbacks();
    busy();
    in_epoll();
    threads();
    slack();
    trims();
    CHECK_EQ(fin_thread_start(&t, asked_late, NULL), 0);
    fin_thread_join_nc(&t);
    CHECK_EQ(fin_thread_start(&t, has_none, NULL), 0);
    fin_thread_join_nc(&t);
    return 0;
}
