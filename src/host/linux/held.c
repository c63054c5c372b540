// SPDX-License-Identifier: BSD-2-Clause
// A thread of the library looks at the counters of all runtimes: one whose counters stand still, and that does not sleep, is
// held by one AWE. So it costs the threads nothing. Where the time is over the thread is sent a signal, whose handler says
// who it is and where; the watching thread, which may use all of libc, prints it.
#define _GNU_SOURCE
#include "host/linux/held.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <execinfo.h>
#else
#define backtrace(ips, most) ((void)(ips), 0)
#endif

#include "host/linux/running.h"
#include "host/linux/symbol.h"
#include "own_thread.h"

enum { FRAMES = 48, LOOKS = 8 }; // looks within the time
enum { NS_PER_MS = 1000000, ANSWER_LOOKS = 10000 }; // a tenth of a millisecond apart

// What one look at a runtime saw, since when it has been seen so, and how often: a process that was stopped, or that the
// machine gave no time, has had fewer looks than the time would hold, and was held by no AWE.
struct watched {
    struct watched *next;
    struct fin_runtime *rt;
    uint64_t seen, since;
    int looks;
    bool reported;
};

// Between the watching thread and the handler in the thread that is asked.
enum { NOTHING, ASKED, AT_WORK, ANSWERED };
static struct {
    uint32_t state;
    struct fin_runtime *rt;
    uint64_t seen;
    char name[64];
    struct fin_running running;
    void *ip, *frame[FRAMES];
    int frames;
} question;

static long limit_ms;
static int signal_number;
static pid_t process; // whose runtimes are watched
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;

// Stands still as long as nothing is dispatched. No locks, and no order: where it is half of one state and half of another,
// it differs from the next look.
__attribute__((no_sanitize("thread"))) static uint64_t look(const struct fin_runtime *rt) {
    const volatile struct fin_runtime *v = rt;
    const volatile struct fin_stats *s = &v->stats;
    const volatile struct fin_blocks *own = &s->blocks[FIN_FOR_PROGRAM];
    uint64_t handed = own->handed_off + own->recognized;
    return v->ticks + (s->switches + s->detached + s->suspended + s->woken_remotely + s->slept + handed) * FIN_TICKS;
}

// Code outside all finish blocks keeps nobody waiting.
__attribute__((no_sanitize("thread"))) static bool busy(struct fin_runtime *rt) {
    const volatile struct fin_runtime *v = rt;
    return v->in_use && v->tid && !v->asleep && v->thread.current && v->thread.current != &rt->root;
}

static void answer(int signal, siginfo_t *info, void *context) {
    int error = errno;
    uint32_t asked = ASKED, state = NOTHING;
    struct fin_runtime *rt = fin_rt(fin_self);
    (void)signal;
    (void)info;
    if (!__atomic_compare_exchange_n(&question.state, &asked, AT_WORK, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    if (rt == question.rt && busy(rt) && look(rt) == question.seen) {
        question.running = fin_running(rt);
        question.name[0] = 0;
        if (question.running.name)
            strncat(question.name, question.running.name, sizeof question.name - 1);
        question.ip = fin_interrupted_at(context);
        question.frames = backtrace(question.frame, FRAMES);
        state = ANSWERED;
    }
    __atomic_store_n(&question.state, state, __ATOMIC_RELEASE);
    errno = error;
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 * NS_PER_MS + (uint64_t)t.tv_nsec;
}

static void pause_ns(uint64_t ns) {
    nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000 / NS_PER_MS), .tv_nsec = (long)(ns % (1000ull * NS_PER_MS))},
              NULL);
}

// Returns the state that the question came to: ANSWERED; NOTHING where the AWE no longer holds the thread, or another
// thread answered; ASKED where the thread takes no signal. Here, too, looks are counted.
static uint32_t ask(struct fin_runtime *rt, uint64_t seen) {
    question.rt = rt;
    question.seen = seen;
    __atomic_store_n(&question.state, ASKED, __ATOMIC_RELEASE);
    if (syscall(SYS_tgkill, getpid(), __atomic_load_n(&rt->tid, __ATOMIC_RELAXED), signal_number) != 0)
        return __atomic_exchange_n(&question.state, NOTHING, __ATOMIC_ACQUIRE);
    for (int looks = 0; looks < ANSWER_LOOKS; looks++, pause_ns(NS_PER_MS / 10)) {
        uint32_t state = __atomic_load_n(&question.state, __ATOMIC_ACQUIRE);
        if (state == NOTHING || state == ANSWERED)
            return state;
    }
    uint32_t asked = ASKED;
    if (__atomic_compare_exchange_n(&question.state, &asked, NOTHING, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
        return ASKED;
    while ((asked = __atomic_load_n(&question.state, __ATOMIC_ACQUIRE)) == AT_WORK)
        pause_ns(NS_PER_MS);
    return asked;
}

// The frames above the one that was interrupted are those of the handler.
static size_t print_frames(char *text, size_t size) {
    char function[256];
    size_t n = 0;
    int first = 0;
    while (first < question.frames && question.frame[first] != question.ip)
        first++;
    for (int i = first, number = 0; i < question.frames || number == 0; i++, number++) {
        char *ip = i < question.frames ? question.frame[i] : question.ip;
        fin_symbol_at(number ? ip - 1 : ip, function, sizeof function); // a return address is behind the call
        n += (size_t)snprintf(text + n, size - n, "    #%d %p %s\n", number, (void *)ip, function);
        if (n + 300 > size)
            break;
    }
    return n;
}

// False: the AWE no longer holds the thread, or another thread took its own signal so late that it took this question.
static bool report(struct fin_runtime *rt, uint64_t seen, uint64_t since) {
    static char text[16384];
    char function[256] = "";
    uint32_t state = ask(rt, seen);
    int tid = __atomic_load_n(&rt->tid, __ATOMIC_RELAXED);
    long long ms = (long long)(now_ns() - since) / NS_PER_MS;
    if (state == NOTHING)
        return false;
    const struct fin_running *r = &question.running;
    if (state == ANSWERED)
        fin_running_name(r, function, sizeof function);
    size_t n;
    if (state == ASKED)
        n = (size_t)snprintf(text, sizeof text,
                             "fin: an AWE has held thread %d for %lld ms, and the thread takes no signal\n", tid, ms);
    else
        n = (size_t)snprintf(text, sizeof text, "fin: AWE \"%s\"%s%s has held thread %d for %lld ms (FIN_HELD_MS=%ld), at\n",
                             question.name[0] ? question.name : "unnamed", r->how, function, tid, ms, limit_ms);
    if (state == ANSWERED)
        n += print_frames(text + n, sizeof text - n);
    if (write(STDERR_FILENO, text, n) < 0)
        n = 0; // nobody hears of it
    return true;
}

static void look_at(struct watched *w) {
    uint64_t seen = look(w->rt), now = now_ns();
    if (!busy(w->rt) || seen != w->seen) {
        w->seen = seen;
        w->since = now;
        w->looks = 0;
        w->reported = false;
    } else if (!w->reported && ++w->looks >= LOOKS / 2 && now - w->since >= (uint64_t)limit_ms * NS_PER_MS) {
        w->reported = report(w->rt, seen, w->since);
    }
}

static struct watched *watched_of(struct watched **all, struct fin_runtime *rt) {
    struct watched *w = *all;
    while (w && w->rt != rt)
        w = w->next;
    if (!w && (w = calloc(1, sizeof *w))) {
        *w = (struct watched){.next = *all, .rt = rt, .seen = look(rt), .since = now_ns()};
        *all = w;
    }
    return w;
}

// A report that has begun is brought to its end. A child of a fork has no watching thread, and perhaps a lock that nobody
// leaves.
static void at_exit(void) {
    if (process == getpid())
        pthread_mutex_lock(&looking); // for ever
}

static void watch(void) {
    static struct watched *all;
    void *frame[2];
    (void)backtrace(frame, 2); // loads what it needs now, and not in a handler
    for (;;) {
        pause_ns((uint64_t)limit_ms * NS_PER_MS / LOOKS);
        pthread_mutex_lock(&looking);
        for (struct fin_runtime *rt = __atomic_load_n(&fin_runtimes, __ATOMIC_ACQUIRE); rt; rt = rt->next) {
            struct watched *w = watched_of(&all, rt);
            if (w)
                look_at(w);
        }
        pthread_mutex_unlock(&looking);
    }
}

// A signal that the program does not use. (The last two mean others in qemu's user mode.)
static bool take_signal(void) {
    struct sigaction old, action = {.sa_sigaction = answer};
    action.sa_flags = SA_SIGINFO | SA_RESTART | fin_track_on_other_stack();
    sigfillset(&action.sa_mask);
    for (signal_number = SIGRTMAX - 2; signal_number >= SIGRTMIN; signal_number--)
        if (sigaction(signal_number, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
            return sigaction(signal_number, &action, NULL) == 0;
    return false;
}

void fin_held_begin(void) {
    static const struct fin_own_thread thread = {.name = "fin-held", .run = watch};
    const char *text = getenv("FIN_HELD_MS");
    char *end;
    if (!text)
        return;
    limit_ms = strtol(text, &end, 10);
    if (end == text || *end || limit_ms <= 0 || limit_ms > 1000000)
        fin_host_die("FIN_HELD_MS is not a number of milliseconds");
    process = getpid();
    if (!take_signal() || atexit(at_exit) != 0 || fin_own_thread_start(&thread) != 0)
        fin_host_die("FIN_HELD_MS: the system refuses a thread or a signal for it");
}
