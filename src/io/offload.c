// SPDX-License-Identifier: BSD-2-Clause
// Calls that block their thread, on threads of their own: started on demand up to a bound, ended when idle. The queue is
// first in, first out and goes through the frames of the callers, so that joining it cannot fail. The idle are called last
// in, first out: the others grow old and end.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <fin/on.h>

#include "core/told.h"
#include "io/io.h"
#include "own_thread.h"

enum { DEFAULT_THREADS = 32, MOST_THREADS = 4096, IDLE_SECONDS = 5 };

struct job {
    struct waiter waiter;
    struct fin_link link;   // next is NULL once it is not in the queue
    struct fin_link beside; // those of its thread that are
    struct fin_link own;    // those of its thread whose callers wait: that thread alone looks at these
    unsigned process;       // whose queue that is, by pool.process
    bool cancelled;         // after it had begun, where it is still waited for
    struct io *io;
    void (*fn)(void *);
    void *arg;
};

struct worker {
    struct worker *next_idle;
    pthread_cond_t call;
    bool called;
};

static struct {
    pthread_mutex_t lock;
    struct fin_link queue;
    struct worker *idle;
    unsigned threads, most; // threads: also those that are being started; most is 0 until it is known
    unsigned process;       // how many forks there were from the first one to this one
    unsigned leaving;       // threads that end, and wait in `served`
    pthread_cond_t served;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .queue = {&pool.queue, &pool.queue}, .served = PTHREAD_COND_INITIALIZER};

static void lock(void) { pthread_mutex_lock(&pool.lock); }
static void unlock(void) { pthread_mutex_unlock(&pool.lock); }

// A parent's, which no thread of its pool has made go on: in the child none will.
static bool is_left(const struct job *job) { return (fin_state(job->waiter.awe) & FIN_AWE_KIND) == FIN_AWE_BUSY; }

// The threads are the parent's, and may have been at the queue, or about to make somebody go on. What they had begun, or
// would have, is not done here, but can be cancelled: or ends at once, where that has been.
void fin_offload_forked(struct io *here) {
    fin_link_init(&pool.queue);
    pool.process++;
    pool.idle = NULL;
    pool.threads = pool.leaving = 0;
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.served, NULL);
    if (!here)
        return;
    for (struct fin_link *l = here->awaited.next; l != &here->awaited; l = l->next) {
        struct job *job = FIN_OF(struct job, own, l);
        if (fin_take_lost(here->rt, job->waiter.awe))
            fin_io_resume(here, &job->waiter, job->waiter.result);
        else if (job->cancelled && is_left(job))
            fin_io_resume(here, &job->waiter, -ECANCELED);
    }
}

// With the lock.
static unsigned most(void) {
    const char *text = pool.most ? NULL : getenv("FIN_OFFLOAD_THREADS");
    char *end = "";
    unsigned long n = text ? strtoul(text, &end, 10) : 0;
    if (n >= 1 && n <= MOST_THREADS && *end == '\0')
        pool.most = (unsigned)n;
    else if (!pool.most)
        pool.most = DEFAULT_THREADS;
    return pool.most;
}

// An idle thread, to look at the queue. False where there is none.
static bool call_one(void) {
    struct worker *w = pool.idle;
    if (!w)
        return false;
    pool.idle = w->next_idle;
    w->called = true;
    pthread_cond_signal(&w->call);
    return true;
}

// False: nobody called for long.
static bool wait_for_call(struct worker *w) {
    struct timespec until;
    int error = 0;
    w->called = false;
    w->next_idle = pool.idle;
    pool.idle = w;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += IDLE_SECONDS;
    while (!w->called && error == 0)
        error = pthread_cond_timedwait(&w->call, &pool.lock, &until);
    if (w->called)
        return true;
    struct worker **p = &pool.idle;
    while (*p != w)
        p = &(*p)->next_idle;
    *p = w->next_idle;
    return false;
}

static void leave_queue(struct job *job) {
    fin_link_remove(&job->link);
    fin_link_remove(&job->beside);
    job->link.next = NULL;
}

static struct job *first_in_queue(void) {
    struct job *job = FIN_OF(struct job, link, pool.queue.next);
    leave_queue(job);
    return job;
}

// False in the child of a fork that the job has made: the thread is all there is of the process, and nobody's any more.
static bool serve(void) {
    const unsigned process = pool.process;
    struct job *job = first_in_queue();
    struct io *io = job->io;
    io->jobs_begun++;
    unlock();
    fin_own_thread_calls = job->fn;
    job->fn(job->arg);
    fin_own_thread_calls = NULL;
    if (pool.process != process)
        return false;
    fin_schedule_decided(job->waiter.awe); // the job is gone
    lock();
    if (--io->jobs_begun == 0 && pool.leaving)
        pthread_cond_broadcast(&pool.served);
    return true;
}

static void work(void) {
    struct worker w = {0};
    fin_own_cond_init(&w.call);
    lock();
    while (pool.threads <= most()) {
        if (fin_link_empty(&pool.queue)) {
            if (!wait_for_call(&w))
                break;
        } else if (!serve()) {
            return;
        }
    }
    pool.threads--;
    if (!fin_link_empty(&pool.queue))
        call_one(); // in its place
    unlock();
    pthread_cond_destroy(&w.call);
}

static const struct fin_own_thread worker_thread = {.name = "fin-offload", .run = work, .of_pool = true};

// Without any thread nothing that waits would ever begin.
static void not_started(int error) {
    lock();
    if (--pool.threads == 0) {
        while (!fin_link_empty(&pool.queue)) {
            struct job *job = first_in_queue();
            job->waiter.result = error;
            fin_schedule_decided(job->waiter.awe);
        }
    }
    unlock();
}

// The caller's AWE can be resumed.
static void submit(void *arg) {
    struct job *job = arg;
    fin_link_back(&job->io->awaited, &job->own);
    lock();
    job->process = pool.process;
    fin_link_back(&pool.queue, &job->link);
    fin_link_back(&job->io->jobs, &job->beside);
    bool more = !call_one() && pool.threads < most();
    pool.threads += more;
    unlock();
    int error = more ? fin_own_thread_start(&worker_thread) : 0;
    if (error)
        not_started(error);
}

static void cancel(void *arg) {
    struct job *job = arg;
    lock();
    bool ours = job->process == pool.process, ends = ours ? job->link.next != NULL : is_left(job);
    if (ours && ends)
        leave_queue(job);
    unlock();
    job->cancelled = !ends;
    if (ends)
        fin_io_resume(job->io, &job->waiter, -ECANCELED);
}

int fin_io_offload(struct io *io, void (*fn)(void *), void *arg, bool nc) {
    struct job job = {.io = io, .fn = fn, .arg = arg};
    if (!nc) {
        fin_cancel_add(&job.waiter.item, cancel, &job);
        if (fin_cancel_item_ran(&job.waiter.item))
            return -ECANCELED;
    }
    io->rt->stats.blocks[FIN_FOR_IO].with_stack++;
    fin_await_then(&job.waiter.awe, submit, &job);
    fin_link_remove(&job.own);
    if (!nc)
        fin_cancel_remove(&job.waiter.item);
    return job.waiter.result;
}

// With a continuation: in the program's struct fin_on.
struct offload_on {
    struct fin_kept kept; // first: the address of this is the state of our continuation
    struct job job;
};
_Static_assert(sizeof(struct offload_on) <= sizeof(struct fin_on), "room for a wait");

// A thread that ends the wait leaves the AWE alone: what it has to say is in the job.
static FIN_INNER void served(void *state, int unused) {
    struct offload_on *w = *(struct offload_on **)state;
    (void)unused;
    fin_link_remove(&w->job.own);
    fin_cont_tell(&w->kept, w->job.waiter.result);
}

static void submit_on(struct fin_awe *a, void *arg) {
    struct job *job = arg;
    job->waiter.awe = a;
    submit(job);
}

int fin_offload_on(struct fin_on *on, void (*fn)(void *), void *arg, fin_cont *cont, const void *state, size_t size) {
    struct offload_on *w = (struct offload_on *)(void *)on;
    struct io *io;
    int error = fin_cont_may_wait(cont, state, size);
    if (error || (error = fin_io_here(&io)) != 0)
        return error;
    fin_keep(&w->kept, cont, state, size);
    w->job = (struct job){.io = io, .fn = fn, .arg = arg, .waiter.item = {.fn = cancel, .arg = &w->job}};
    return fin_cont_suspend(FIN_FOR_IO, served, &w, sizeof w, &w->job.waiter.item, submit_on, &w->job);
}

uint32_t fin_io_hold_opened(struct io *io, int fd) {
    lock();
    uint32_t place = fin_hold(&io->opened, fd);
    unlock();
    return place;
}

void fin_io_take_opened(struct io *io, uint32_t place) {
    lock();
    fin_take(&io->opened, place);
    unlock();
}

void fin_io_offload_end(struct io *io) {
    lock();
    while (!fin_link_empty(&io->jobs))
        leave_queue(FIN_OF(struct job, beside, io->jobs.next));
    pool.leaving++;
    while (io->jobs_begun > 0)
        pthread_cond_wait(&pool.served, &pool.lock);
    pool.leaving--;
    unlock();
}

static FIN_BLOCKING int offload(void (*fn)(void *), void *arg, bool nc) {
    struct io *io;
    int error = fin_io_here(&io);
    return error ? error : fin_io_offload(io, fn, arg, nc);
}

int fin_offload(void (*fn)(void *), void *arg) { return offload(fn, arg, false); }
int fin_offload_nc(void (*fn)(void *), void *arg) { return offload(fn, arg, true); }

// For how many jobs that wait there may be a thread now.
static unsigned waiting_for_threads(void) {
    unsigned jobs = 0, room = pool.threads < most() ? most() - pool.threads : 0;
    for (const struct fin_link *l = pool.queue.next; l != &pool.queue && jobs < room; l = l->next)
        jobs++;
    return jobs;
}

int fin_offload_threads(unsigned want) {
    int r = want > MOST_THREADS ? -EINVAL : fin_io_watch_forks();
    if (r != 0)
        return r;
    lock();
    r = (int)most();
    if (want)
        pool.most = want;
    unsigned more = waiting_for_threads();
    pool.threads += more;
    unlock();
    for (; more; more--) {
        int error = fin_own_thread_start(&worker_thread);
        if (error)
            not_started(error);
    }
    return r;
}
