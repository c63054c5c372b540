// SPDX-License-Identifier: BSD-2-Clause
// How a message interrupts what a thread computes (htm 5.2.2). The two halves of the paper's alert handler are here the
// handler of a signal, and what an AWE does that enables alerts:
//
// - First half: where alerts are effectively disabled it only records that one came, in rt->alerted. They are enabled where
//   rt->computing is set and the body and block that set it are those that run.
// - Second half, with alerts disabled: it looks into the monitored sets, and wakes an AWE that waits there. The computation
//   is an AWE that stops in the handler's frame, on its own stack, to run behind that one.
//
// What runs again after that must not be interrupted before it is back where it was: else the frames of handlers could pile
// up. So the signal is blocked before computing is set again, and the return from the handler, which is one step, unblocks
// it. (The paper has the same race where a thread is resumed, and compares the program counter.) While other AWEs run it is
// not blocked.
//
// Who raises an alert:  alerted = 1; computing? then signal; asleep? then wake
// Who enables:          computing = 1; alerted? then handle it
//
// Each is a store, then a load of the other's: one of the two sees it, or both. The store is an exchange, which costs what a
// sequentially consistent store does, for an emulator lets a load pass such a store. Another process cannot see `computing`:
// its packet signals always. (models/interrupt.pml; alert.pml: the paper's)
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fin/alert.h>

#include "chan/waitset.h"

void fin_alert_raise(struct fin_runtime *rt) {
    __atomic_exchange_n(&rt->alerted, 1, __ATOMIC_SEQ_CST);
    if (rt == fin_rt(fin_self)) {
        rt->stats.switches -= rt->ticks - 1; // which says how many there were
        rt->ticks = 1;                       // the next dispatch looks
    } else if (__atomic_load_n(&rt->computing, __ATOMIC_SEQ_CST)) {
        syscall(SYS_tgkill, getpid(), rt->tid, SIGURG);
    } else if (__atomic_load_n(&rt->asleep, __ATOMIC_SEQ_CST)) {
        fin_runtime_wake(rt);
    }
}

// Takes one that waits in each monitored set that has an event; that one wakes the next. Those of other threads run there.
static struct fin_waiter *collect(struct fin_runtime *rt) {
    struct fin_waiter *own = NULL;
    bool rung = __atomic_exchange_n(&rt->alerted, 0, __ATOMIC_SEQ_CST); // then the looks: what comes later raises again
    fin_latch_acquire(&fin_waitset_changes);
    for (struct fin_waitset *w = rt->monitored; w; w = w->next) {
        fin_latch_acquire(&w->waiters.latch);
        if (w->epoll >= 0 && rung)
            fin_waitset_hear(w);
        if (fin_lines_on(rt))
            fin_waitset_look_at_lines(w);
        struct fin_waiter *f = fin_waitset_next_follower(w);
        if (f && f->awe->owner == rt) {
            f->next = own;
            own = f;
            f = NULL;
            fin_latch_release(&w->waiters.latch);
        } else {
            fin_waitset_release(w);
        }
        if (f)
            fin_waiter_run(f);
    }
    fin_latch_release(&fin_waitset_changes);
    return own;
}

static void run_first(struct fin_waiter *f) {
    for (struct fin_waiter *next; f; f = next) {
        next = f->next;
        fin_schedule_decided_front(f->awe);
    }
}

// From the scheduler, which runs no AWE, and sleeps where none is queued.
static void alert(struct fin_runtime *rt) {
    if (fin_lines_on(rt) && (fin_link_empty(&rt->queue) || --rt->lines.looks == 0))
        fin_lines_end(rt);
    run_first(collect(rt));
}

struct behind {
    struct fin_awe *awe;
    struct fin_waiter *first;
};

static void queue_behind(void *arg) {
    struct behind *b = arg;
    fin_schedule_front(b->awe);
    run_first(b->first);
}

// Whoever started this AWE, and has not gone on yet, goes on before the queue, and might compute.
static FIN_BLOCKING void let_run(struct fin_runtime *rt, struct fin_waiter *first) {
    struct behind b = {NULL, first};
    rt->precedes |= pending_of(rt->thread.current) != NULL;
    fin_suspend_then(&b.awe, queue_behind, &b);
}

void fin_alert_handle(struct fin_runtime *rt) {
    struct fin_waiter *first = collect(rt);
    if (first)
        let_run(rt, first);
}

static bool alerted(const struct fin_runtime *rt) { return __atomic_load_n(&rt->alerted, __ATOMIC_SEQ_CST); }

static bool is_computing(const struct fin_runtime *rt) {
    return __atomic_load_n(&rt->computing, __ATOMIC_RELAXED) && rt->computing_body == rt->body &&
           rt->computing_block == rt->thread.current;
}

static void compute(struct fin_runtime *rt) {
    if (FIN_UNLIKELY(fin_lines_on(rt)))
        fin_lines_end(rt);
    rt->computing_body = rt->body;
    rt->computing_block = rt->thread.current;
    __atomic_exchange_n(&rt->computing, 1, __ATOMIC_SEQ_CST);
}

static void disable(struct fin_runtime *rt) {
    __atomic_store_n(&rt->computing, 0, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void block_signal(int how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    pthread_sigmask(how, &set, NULL);
}

static FIN_BLOCKING void interrupt(struct fin_runtime *rt) {
    do {
        disable(rt);
        struct fin_waiter *first = collect(rt);
        if (first) {
            block_signal(SIG_UNBLOCK);
            let_run(rt, first);
            block_signal(SIG_BLOCK);
        }
        compute(rt);
    } while (alerted(rt));
}

static FIN_BLOCKING void handler(int signal) {
    int error = errno;
    struct fin_runtime *rt = fin_rt(fin_self);
    (void)signal;
    if (rt) {
        __atomic_store_n(&rt->alerted, 1, __ATOMIC_SEQ_CST);
        if (is_computing(rt))
            interrupt(rt);
        else if (__atomic_load_n(&rt->asleep, __ATOMIC_RELAXED))
            fin_runtime_wake(rt);
    }
    errno = error;
}

// Since this was asked last, has one been put before all others that may still be queued? Having handled an event, it is to
// be in line for the next before anybody computes; but whoever had started it, and had not gone on yet, goes on before the
// queue. Where that one has not gone on yet it is to ask, too.
static bool is_overtaking(struct fin_runtime *rt) {
    bool is = rt->precedes && !fin_link_empty(&rt->queue);
    rt->precedes = is && pending_of(rt->thread.current);
    return is;
}

void fin_alert_let_first_wait(struct fin_runtime *rt) {
    if (is_overtaking(rt))
        fin_yield();
}

void fin_alert_enable(void) {
    struct fin_runtime *rt = fin_here();
    if (is_overtaking(rt) || pending_of(rt->thread.current))
        fin_yield(); // what goes on meanwhile is not left to an alert
    for (compute(rt); alerted(rt); compute(rt)) {
        disable(rt);
        fin_alert_handle(rt);
    }
}

bool fin_alert_disable(void) {
    struct fin_runtime *rt = fin_rt(fin_self);
    if (!rt || !is_computing(rt))
        return false;
    disable(rt);
    return true;
}

// Whoever sends may have to signal the thread, by its number: what denies that is found here.
static int may_be_signalled(void) {
    long tid = syscall(SYS_gettid);
    return tid < 0 || syscall(SYS_tgkill, getpid(), tid, 0) != 0 ? -errno : 0;
}

// Where it fails it is tried again with the next set. With fin_waitset_changes.
static int install(void) {
    static bool installed;
    struct sigaction old, new = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&new.sa_mask);
    if (installed)
        return 0;
    if (sigaction(SIGURG, NULL, &old) != 0)
        return -errno;
    if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN)
        return -EBUSY;
    installed = sigaction(SIGURG, &new, NULL) == 0;
    return installed ? 0 : -errno;
}

int fin_alert_begin(struct fin_runtime *rt) {
    fin_latch_acquire(&fin_waitset_changes);
    int error = may_be_signalled();
    if (error == 0)
        error = install();
    fin_latch_release(&fin_waitset_changes);
    if (error)
        return error;
    rt->alert = alert;
    block_signal(SIG_UNBLOCK);
    return 0;
}
