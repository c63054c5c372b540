// SPDX-License-Identifier: BSD-2-Clause
// The trace of a process: a ring of events for each thread, which only that thread writes, and which write.c turns into JSON
// when the trace ends. A thread that runs on meanwhile may lose what it records then.
#define _GNU_SOURCE
#include "host/linux/trace.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <fin/trace.h>

#include "core/cont.h"
#include "core/dispatch.h"
#include "core/trace.h"
#include "forks.h"
#include "host/linux/running.h"

bool fin_trace_on;
void (*fin_trace_begins)(void);
static struct fin_trace_ring *rings; // of all threads that were traced; they stay, for other threads when these end
static char path[4096];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct fin_trace_ring *own;

// Who was woken by whom is an arrow where the one that goes on was woken: the AWEs of the last few.
enum { WOKEN = 256 };
static const struct fin_awe *woken[WOKEN];

static const struct fin_awe **woken_place(const struct fin_awe *a) { return &woken[(uintptr_t)a / 64 % WOKEN]; }

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// A signal handler of the program may mark a moment in the midst of an event: that comes behind it, and both are told of
// when the outer one is complete. What is begun is said before it is written, in the place of the oldest: write.c looks at
// `begun` after it has copied an event.
static struct fin_trace_event *next(struct fin_trace_ring *r, int kind, uint64_t at) {
    r->writing++;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct fin_trace_event *e = &r->events[__atomic_fetch_add(&r->begun, 1, __ATOMIC_RELAXED) & (r->size - 1)];
    __atomic_thread_fence(__ATOMIC_RELEASE);
    *e = r->who;
    e->at = at;
    e->kind = kind;
    return e;
}

// The next one is complete: another thread, which ends the trace, may read it. A handler may add one before it is told of.
static void added(struct fin_trace_ring *r) {
    uint64_t all;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (--r->writing != 0)
        return;
    do {
        all = __atomic_load_n(&r->begun, __ATOMIC_RELAXED);
        __atomic_store_n(&r->count, all, __ATOMIC_RELEASE);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    } while (__atomic_load_n(&r->begun, __ATOMIC_RELAXED) != all);
}

static void add(struct fin_trace_ring *r, int kind, uint64_t at, uint64_t arg) {
    next(r, kind, at)->arg = arg;
    added(r);
}

static bool records(const struct fin_trace_ring *r) { return r && __atomic_load_n(&fin_trace_on, __ATOMIC_ACQUIRE); }

static void set_name(struct fin_trace_event *e, const char *name) {
    size_t n = name ? strlen(name) : 0;
    if (n > sizeof e->name - 1)
        n = sizeof e->name - 1;
    if (n)
        memcpy(e->name, name, n);
    e->name[n] = 0;
}

// The run of whoever ran is over.
static void over(struct fin_trace_ring *r, uint64_t at) {
    if (!r->runs)
        return;
    add(r, FIN_TRACE_RUN, r->since, at - r->since);
    r->runs = false;
}

// A coroutine is known by where it goes on: its frame begins with that, and is there while it runs or is about to.
static const void *code_of(struct fin_trace_ring *r, struct fin_running what) {
    size_t i = (uintptr_t)what.at / 16 % (sizeof r->known / sizeof r->known[0]);
    if (!what.at || !what.state)
        return what.at;
    if (r->known[i].cont != what.at) {
        r->known[i].cont = what.at;
        r->known[i].is_coroutine = fin_running_is_coroutine(what.at);
    }
    const void *at = r->known[i].is_coroutine ? *(const void *const *)what.state : NULL;
    return at ? at : what.at;
}

// An explicit AWE has one track, that of its record, whether it waits with its stack or without.
static const void *track_of(const struct fin_body *body) {
    const struct fin_cont_record *e = running_record(body);
    return e ? (const void *)e : body;
}

static void runs(struct fin_trace_ring *r, const void *who, struct fin_running what) {
    r->since = now();
    r->runs = true;
    r->who = (struct fin_trace_event){.who = (uint64_t)(uintptr_t)who, .fn = code_of(r, what)};
    set_name(&r->who, what.name);
}

void fin_trace_blocked(struct fin_runtime *rt, struct fin_body *body) {
    if (!records(own))
        return;
    // It began after its owner, and ran last: where the one ended and the other began nobody knows.
    own->who = (struct fin_trace_event){.who = (uint64_t)(uintptr_t)body, .fn = fin_running_body(rt, body, true).at};
    set_name(&own->who, body->name);
    over(own, now());
}

// The site of an async that is landed in finds the note there, and takes it away: then the body around it runs.
void fin_trace_goes_on(struct fin_runtime *rt, const void *sp) {
    if (!records(own))
        return;
    struct fin_finish_block *b = rt->thread.current, *p = pending_of(body_of(b) == sp ? outward(b) : b);
    const struct fin_body *body = running_body(rt, p);
    over(own, now());
    runs(own, track_of(body), fin_running_body(rt, body, !p || (uintptr_t)p->pending & FIN_PENDING_NAMED));
}

void fin_trace_idle(void) {
    if (records(own))
        over(own, now());
}

static struct fin_running waits_with(const struct fin_cont_record *e) {
    struct fin_running r = {0};
    const void *state;
    r.at = (const void *)(uintptr_t)fin_cont_of_program(e, &state);
    memcpy(&r.state, state, sizeof r.state);
    return r;
}

void fin_trace_resumes(struct fin_runtime *rt, const struct fin_awe *a) {
    if (!records(own))
        return;
    over(own, now());
    if (fin_state(a) & FIN_AWE_EXPLICIT)
        runs(own, a, waits_with(record_of(a)));
    else
        runs(own, track_of(a->body), fin_running_body(rt, a->body, true));
    const struct fin_awe *expected = a;
    if (__atomic_compare_exchange_n(woken_place(a), &expected, NULL, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        add(own, FIN_TRACE_GOES_ON, own->since, (uint64_t)(uintptr_t)a);
}

void fin_trace_woken(struct fin_runtime *rt, const struct fin_awe *a) {
    if (!rt || !records(own))
        return;
    __atomic_store_n(woken_place(a), a, __ATOMIC_RELAXED);
    add(own, FIN_TRACE_WAKES, now(), (uint64_t)(uintptr_t)a);
}

static void follow(struct fin_runtime *rt, bool on) {
    rt->watched = on ? rt->watched | FIN_WATCHED_TRACE : rt->watched & ~(uint32_t)FIN_WATCHED_TRACE;
    rt->stats.switches += rt->turn - rt->ticks;
    rt->turn = rt->ticks = on ? 1 : FIN_TICKS;
}

// A trace is over, or another one has begun since.
void fin_trace_looks(struct fin_runtime *rt) {
    if (!own)
        return;
    if (records(own) != fin_traced(rt)) {
        own->runs = false;
        follow(rt, !fin_traced(rt));
    }
    own->looked = now();
}

// Of the queued ones those whom nobody of this program has woken: a slice of the thread itself is where their arrows begin.
// Whoever was interrupted by the look goes on behind it.
void fin_trace_looked(const struct fin_runtime *rt, const struct fin_link *last) {
    struct fin_trace_ring *r = own;
    bool found = false;
    if (!records(r))
        return;
    const struct fin_trace_event who = r->who;
    bool interrupted = r->runs;
    uint64_t at = now();
    for (const struct fin_link *l = last->next; l != &rt->queue; l = l->next) {
        const struct fin_awe *a = FIN_AWE_OF(l);
        if (__atomic_load_n(woken_place(a), __ATOMIC_RELAXED) == a)
            continue;
        if (!found) {
            over(r, r->looked);
            r->who = (struct fin_trace_event){.name = "events"};
            add(r, FIN_TRACE_RUN, r->looked, at - r->looked);
            found = true;
        }
        __atomic_store_n(woken_place(a), a, __ATOMIC_RELAXED);
        add(r, FIN_TRACE_WAKES, at - 1, (uint64_t)(uintptr_t)a);
    }
    r->who = who;
    r->runs = interrupted;
    if (found)
        r->since = at;
}

void fin_trace_cancelled(void) { fin_trace_mark("cancel"); }

void fin_trace_message(bool sent, uint64_t id, uint64_t position) {
    if (!records(own))
        return;
    struct fin_trace_event *e = next(own, sent ? FIN_TRACE_SENDS : FIN_TRACE_RECEIVES, now());
    e->arg = id;
    e->who2 = position;
    added(own);
}

void fin_trace_mark(const char *name) {
    if (!records(own))
        return;
    set_name(next(own, FIN_TRACE_MARK, now()), name);
    added(own);
}

// A power of two, for what the environment says.
static uint64_t events_kept(void) {
    const char *text = getenv("FIN_TRACE_EVENTS");
    char *end = NULL;
    uint64_t wanted = text ? strtoull(text, &end, 10) : 65536, size = 64;
    if (text && (text[0] < '0' || text[0] > '9' || *end))
        fin_host_die("FIN_TRACE_EVENTS is not a number of events");
    while (size < wanted && size < (uint64_t)1 << 24)
        size *= 2;
    return size;
}

// This trace has nothing of it.
static bool is_empty(const struct fin_trace_ring *r) {
    return __atomic_load_n(&r->count, __ATOMIC_RELAXED) == __atomic_load_n(&r->before, __ATOMIC_ACQUIRE);
}

// An empty one whose thread has ended.
static struct fin_trace_ring *left_ring(uint64_t size) {
    for (struct fin_trace_ring *r = __atomic_load_n(&rings, __ATOMIC_ACQUIRE); r; r = r->next) {
        if (r->size != size || !__atomic_exchange_n(&r->left, false, __ATOMIC_ACQUIRE))
            continue;
        if (is_empty(r))
            return r;
        __atomic_store_n(&r->left, true, __ATOMIC_RELEASE);
    }
    return NULL;
}

static bool have_ring(void) {
    uint64_t size = own ? own->size : events_kept();
    struct fin_trace_ring *r = own ? own : left_ring(size);
    if (!r && (r = fin_host_map(sizeof *r + size * sizeof(struct fin_trace_event), 0))) {
        r->size = size;
        r->next = __atomic_load_n(&rings, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&rings, &r->next, r, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        }
    }
    own = r;
    return r;
}

void fin_trace_begin(struct fin_runtime *rt) {
    if (!__atomic_load_n(&fin_trace_on, __ATOMIC_ACQUIRE) || !have_ring())
        return;
    own->tid = gettid();
    follow(rt, true);
    runs(own, track_of(running_body(rt, pending_of(rt->thread.current))), fin_running(rt));
}

void fin_trace_thread_ends(void) {
    struct fin_trace_ring *r = own;
    if (!r)
        return;
    r->runs = false;
    own = NULL; // a handler marks nothing there any more
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&r->left, true, __ATOMIC_RELEASE);
}

static int finish(void) {
    pthread_mutex_lock(&lock);
    int r = fin_trace_on ? 0 : -EINVAL;
    if (own && r == 0)
        over(own, now());
    __atomic_store_n(&fin_trace_on, false, __ATOMIC_RELEASE);
    if (r == 0)
        r = fin_trace_write(__atomic_load_n(&rings, __ATOMIC_ACQUIRE), path);
    pthread_mutex_unlock(&lock);
    return r;
}

int fin_trace_stop(void) { return finish(); }

// Nobody asks for the result.
static void at_exit(void) {
    int r = finish();
    if (r != 0 && r != -EINVAL)
        fin_trace_unwritten(path + 1, r);
}

void fin_trace_crashed(const char *signal) {
    if (!fin_trace_is_on() || pthread_mutex_trylock(&lock) != 0)
        return;
    if (own) { // an event that it was in the midst of will not be complete
        own->begun = own->count;
        own->writing = 0;
    }
    fin_trace_mark(signal);
    pthread_mutex_unlock(&lock);
    at_exit();
}

// The child of a fork has a trace of its own, in the same file, and not the thread that may have had the lock.
static void in_child(void) {
    pthread_mutex_init(&lock, NULL);
    for (struct fin_trace_ring *r = rings; r; r = r->next) {
        r->count = r->begun = r->before = 0;
        r->left = r != own;
        r->writing = r == own ? r->writing : 0;
    }
    if (own)
        own->tid = gettid();
}

// From here on all of us append: a process that this one starts, too. Each may be in another folder by then.
static int set_path(const char *file) {
    size_t folder = 0;
    path[0] = '+';
    if (*file && *file != '/') {
        if (!getcwd(path + 1, sizeof path - 1))
            return errno == ERANGE ? -ENAMETOOLONG : -errno;
        folder = strlen(path + 1);
        path[++folder] = '/';
    }
    if (folder + strlen(file) + 2 > sizeof path)
        return -ENAMETOOLONG;
    strcpy(path + 1 + folder, file);
    return 0;
}

static int start_locked(const char *file) {
    static bool ends;
    if (fin_trace_on)
        return -EALREADY;
    ends = ends || atexit(at_exit) == 0;
    if (!ends)
        return -ENOMEM;
    bool append = *file == '+';
    int r = set_path(file + append);
    if (r == 0)
        r = fin_trace_make_file(path + 1, append);
    if (r != 0)
        return r;
    for (struct fin_trace_ring *ring = __atomic_load_n(&rings, __ATOMIC_ACQUIRE); ring; ring = ring->next)
        __atomic_store_n(&ring->before, __atomic_load_n(&ring->count, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
    __atomic_store_n(&fin_trace_on, true, __ATOMIC_RELEASE);
    return 0;
}

static int start(const char *file) {
    static bool watched;
    int r = fin_watch_forks(&watched, in_child);
    if (r != 0)
        return r;
    pthread_mutex_lock(&lock);
    r = start_locked(file);
    pthread_mutex_unlock(&lock);
    return r;
}

// There may be channels already, also where no thread has used Fin for anything else.
static void tell(void) {
    void (*begins)(void) = __atomic_load_n(&fin_trace_begins, __ATOMIC_RELAXED);
    if (begins)
        begins();
}

int fin_trace_start(const char *file) {
    struct fin_runtime *rt = fin_here();
    int r = have_ring() ? start(file) : -ENOMEM;
    if (r != 0)
        return r;
    fin_trace_begin(rt);
    tell();
    return 0;
}

void fin_trace_begin_process(void) {
    const char *file = getenv("FIN_TRACE");
    int error = file && *file ? start(file) : -ENOENT;
    if (error == 0) {
        setenv("FIN_TRACE", path, 1);
        tell();
    } else if (file && *file) {
        fin_trace_unwritten(file, error);
    }
}
