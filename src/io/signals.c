// SPDX-License-Identifier: BSD-2-Clause
// Signals as events: a handler writes each into the pipe of every open set that has it. Who waits for the pipe takes one
// itself then, unless another was quicker: a read in flight would take it for an AWE whose thread may end meanwhile.
//
// The handler may run in any thread at any time. It walks a list whose nodes are never freed, and uses a node's pipe only
// between `handlers` up and down, while the node still has the signal: so who has taken the signals away and seen `handlers`
// at zero may close the pipe. What it calls is FIN_UNTRACKED, and system calls: it may come in the midst of TSan's work.
#define _GNU_SOURCE
#include <fin/signals.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fin/io.h>
#include <fin/on.h>

#include "core/told.h"
#include "forks.h"

enum { REAL_TIME_MOST = 1024, SIGNALS = 64 };

struct fin_signal_set {
    struct fin_signal_set *next;
    bool in_use;
    int pipe[2];
    uint64_t has;       // bit signal - 1; atomic, as all below
    uint64_t unread;    // ordinary signals that are in the pipe
    uint32_t handlers;  // at work with this set
    uint32_t real_time; // in the pipe
    uint32_t real_time_most;
    uint64_t lost;
};

_Static_assert(sizeof(struct fin_signal_info) == 32, "a page of a pipe holds a whole number of them");

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; // of what opens and closes
static struct fin_signal_set *sets;
static struct sigaction before[SIGNALS]; // of those in an open set
static uint64_t handled;
static pid_t owner;
static uint64_t early; // signals that came to the child of a fork
static pid_t early_in; // that child

static FIN_UNTRACKED uint64_t bit(int signal) { return (uint64_t)1 << (signal - 1); }

// Is it to be written? One of each ordinary signal, and as many real-time signals as leave room for those.
static FIN_UNTRACKED bool counts(struct fin_signal_set *s, int signal) {
    if (signal < SIGRTMIN)
        return !(__atomic_fetch_or(&s->unread, bit(signal), __ATOMIC_SEQ_CST) & bit(signal));
    if (__atomic_fetch_add(&s->real_time, 1, __ATOMIC_SEQ_CST) < s->real_time_most)
        return true;
    __atomic_fetch_sub(&s->real_time, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&s->lost, 1, __ATOMIC_SEQ_CST);
    return false;
}

// It could not be written after all: the program has closed the pipe.
static FIN_UNTRACKED void not_written(struct fin_signal_set *s, int signal) {
    __atomic_fetch_add(&s->lost, 1, __ATOMIC_SEQ_CST);
    if (signal < SIGRTMIN)
        __atomic_fetch_and(&s->unread, ~bit(signal), __ATOMIC_SEQ_CST);
    else
        __atomic_fetch_sub(&s->real_time, 1, __ATOMIC_SEQ_CST);
}

static FIN_UNTRACKED void handler(int signal, siginfo_t *from, void *context) {
    int error = errno;
    struct fin_signal_info i;
    (void)context;
    i.signal = signal; // an initializer may be a call of memset, which TSan takes part in
    i.code = from->si_code;
    i.pid = from->si_pid;
    i.uid = from->si_uid;
    i.value = signal == SIGCHLD ? 0 : (uintptr_t)from->si_value.sival_ptr;
    i.unused_[0] = i.unused_[1] = 0;
    if (signal == SIGCHLD)
        i.status = from->si_status;
    // A child between its fork and the end of that has its parent's pipes. (One of vfork has its parent's memory, too.)
    pid_t self = getpid();
    bool ours = self == __atomic_load_n(&owner, __ATOMIC_RELAXED);
    if (!ours) {
        if (early_in != self) // what a child of vfork left
            __atomic_store_n(&early, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&early_in, self, __ATOMIC_RELAXED);
        __atomic_fetch_or(&early, bit(signal), __ATOMIC_RELAXED);
    }
    for (struct fin_signal_set *s = __atomic_load_n(&sets, __ATOMIC_ACQUIRE); s && ours; s = s->next) {
        if (!(__atomic_load_n(&s->has, __ATOMIC_SEQ_CST) & bit(signal)))
            continue;
        __atomic_fetch_add(&s->handlers, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&s->has, __ATOMIC_SEQ_CST) & bit(signal) && counts(s, signal) &&
            syscall(SYS_write, s->pipe[1], &i, sizeof i) != sizeof i)
            not_written(s, signal);
        __atomic_fetch_sub(&s->handlers, 1, __ATOMIC_SEQ_CST);
    }
    errno = error;
}

static uint64_t bits(const sigset_t *set) {
    uint64_t all = 0;
    for (int i = 1; i <= SIGNALS; i++)
        if (sigismember(set, i) == 1)
            all |= bit(i);
    return all;
}

static uint64_t in_open_sets(void) {
    uint64_t all = 0;
    for (struct fin_signal_set *s = sets; s; s = s->next)
        all |= s->has;
    return all;
}

// Pre: the mutex is held. On an error those handled so far stay as they are, until `give_back_actions`.
static int handle_all(uint64_t want) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART | fin_track_on_other_stack()};
    sigfillset(&action.sa_mask);
    for (int i = 1; i <= SIGNALS; i++) {
        if (!(want & ~handled & bit(i)))
            continue;
        if (fin_track_sigaction(i, &action, &before[i - 1]) != 0)
            return -errno;
        handled |= bit(i);
    }
    return 0;
}

static void give_back_actions(void) {
    uint64_t keep = in_open_sets();
    for (int i = 1; i <= SIGNALS; i++)
        if (handled & ~keep & bit(i))
            fin_track_sigaction(i, &before[i - 1], NULL);
    handled &= keep;
}

// Pre: the mutex is held, or this is the only thread.
static void close_set(struct fin_signal_set *s) {
    close(s->pipe[0]);
    close(s->pipe[1]);
    s->unread = s->real_time = 0;
    s->lost = 0;
    s->in_use = false;
}

// Other threads' handlers are not in the child, nor is the thread that may have had the mutex. The parent's sets are none
// here, nor do they become such again: handles, and who waited, still name them. A signal that was early comes again.
static void leave_to_parent(void) {
    pthread_mutex_init(&mutex, NULL);
    for (struct fin_signal_set *s = sets; s; s = s->next) {
        s->has = 0;
        s->handlers = 0;
        if (s->in_use)
            close_set(s);
    }
    give_back_actions();
    owner = 0;
    sets = NULL;
    for (int i = 1; i <= SIGNALS; i++)
        if (early & bit(i) && early_in == getpid())
            raise(i);
    early = 0;
}

static struct fin_signal_set *unused_set(void) {
    struct fin_signal_set *s = sets;
    while (s && s->in_use)
        s = s->next;
    if (s || !(s = calloc(1, sizeof *s)))
        return s;
    s->next = sets;
    __atomic_store_n(&sets, s, __ATOMIC_RELEASE);
    return s;
}

// There is to be room for one of each ordinary signal beside them, whatever part of the first page has been read. A user who
// has many pipes gets small ones.
static uint32_t room_for_real_time(int pipe) {
    const long page = sysconf(_SC_PAGESIZE), of_page = page / (long)sizeof(struct fin_signal_info);
    const long wanted = ((REAL_TIME_MOST + SIGNALS) / of_page + 2) * page;
    long size = fcntl(pipe, F_GETPIPE_SZ);
    if (size < wanted && fcntl(pipe, F_SETPIPE_SZ, (int)wanted) >= wanted)
        size = wanted;
    long most = (size / page - 1) * of_page - SIGNALS;
    return most < 0 ? 0 : most < REAL_TIME_MOST ? (uint32_t)most : REAL_TIME_MOST;
}

// Nobody is told any more, and no handler is at its pipe.
static void shut_set(struct fin_signal_set *s) {
    __atomic_exchange_n(&s->has, 0, __ATOMIC_SEQ_CST); // not a store: see alert.c
    give_back_actions();
    while (__atomic_load_n(&s->handlers, __ATOMIC_SEQ_CST))
        sched_yield();
    close_set(s);
}

// The pipe must be there before a handler sees the set, and the set before the first handler: whoever took a signal for
// nobody would lose it.
static int open_set(struct fin_signals *out, uint64_t want) {
    struct fin_signal_set *s = unused_set();
    if (!s)
        return -ENOMEM;
    if (pipe2(s->pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        return -errno;
    s->real_time_most = room_for_real_time(s->pipe[1]);
    s->in_use = true;
    __atomic_store_n(&owner, getpid(), __ATOMIC_RELAXED);
    __atomic_store_n(&s->has, want, __ATOMIC_SEQ_CST);
    int error = handle_all(want);
    if (error == 0)
        out->set = s;
    else
        shut_set(s);
    return error;
}

int fin_signals_open(struct fin_signals *out, const sigset_t *set) {
    static const int faults[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    static bool watched;
    uint64_t want = bits(set);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (want & bit(faults[i]))
            return -EINVAL;
    if (want == 0)
        return -EINVAL;
    int error = fin_watch_forks(&watched, leave_to_parent);
    if (error)
        return error;
    pthread_mutex_lock(&mutex);
    error = open_set(out, want);
    pthread_mutex_unlock(&mutex);
    return error;
}

void fin_signals_close(struct fin_signals *out) {
    struct fin_signal_set *s = out->set;
    out->set = NULL;
    if (!s || !s->in_use) // the parent's
        return;
    pthread_mutex_lock(&mutex);
    shut_set(s);
    pthread_mutex_unlock(&mutex);
}

// -EAGAIN: there is none. What comes from here on is a new signal: before, it would have been part of the one read.
static int take_one(struct fin_signal_set *s, struct fin_signal_info *info) {
    ssize_t n;
    if (!s->in_use) // in the child of a fork: the numbers of its pipe are those of other files
        return -EBADF;
    do
        n = read(s->pipe[0], info, sizeof *info);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof *info)
        return n < 0 ? -errno : -EIO;
    if (info->signal < SIGRTMIN)
        __atomic_fetch_and(&s->unread, ~bit(info->signal), __ATOMIC_SEQ_CST);
    else
        __atomic_fetch_sub(&s->real_time, 1, __ATOMIC_SEQ_CST);
    return 0;
}

static FIN_BLOCKING int next(struct fin_signals *out, struct fin_signal_info *info, bool nc) {
    struct fin_signal_set *s = out->set;
    if (!s || !s->in_use)
        return -EBADF;
    int r;
    do // also where there is one already: in the ring that is a wait, in which others run, and be it a flood
        r = nc ? fin_poll_nc(s->pipe[0], POLLIN) : fin_poll(s->pipe[0], POLLIN);
    while (r >= 0 && (r = take_one(s, info)) == -EAGAIN);
    return r;
}

int fin_signals_next(struct fin_signals *s, struct fin_signal_info *info) { return next(s, info, false); }
int fin_signals_next_nc(struct fin_signals *s, struct fin_signal_info *info) { return next(s, info, true); }

// With a continuation: in the program's struct fin_more_on.
struct signals_on {
    struct fin_kept kept; // first: the address of this is the state of our continuation
    struct fin_signal_set *set;
    struct fin_signal_info *info;
    struct fin_on on;
};
_Static_assert(sizeof(struct signals_on) <= sizeof(struct fin_more_on), "room for a wait");

static FIN_INNER void arrived(void *state, int r);

static int await_one(struct signals_on *w) { return fin_poll_on(&w->on, w->set->pipe[0], POLLIN, arrived, &w, sizeof w); }

static FIN_INNER void arrived(void *state, int r) {
    struct signals_on *w = *(struct signals_on **)state;
    if (r >= 0 && (r = take_one(w->set, w->info)) == -EAGAIN)
        r = await_one(w);
    fin_cont_tell(&w->kept, r);
}

int fin_signals_next_on(struct fin_signals *s, struct fin_signal_info *info, struct fin_more_on *storage, fin_cont *cont,
                        const void *state, size_t size) {
    struct signals_on *w = (struct signals_on *)(void *)storage;
    int error = fin_cont_may_wait(cont, state, size);
    if (error)
        return error;
    if (!s->set || !s->set->in_use)
        return fin_cont_call(cont, state, size, -EBADF);
    fin_keep(&w->kept, cont, state, size);
    w->set = s->set;
    w->info = info;
    return await_one(w);
}

uint64_t fin_signals_lost(const struct fin_signals *s) {
    return s->set ? __atomic_load_n(&s->set->lost, __ATOMIC_RELAXED) : 0;
}
