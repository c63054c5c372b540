// SPDX-License-Identifier: BSD-2-Clause
// Signals as events: while a set is open, its signals interrupt nobody and end nothing; they are read, one at a time.
//
//     struct fin_signals s;
//     sigset_t set;
//     sigemptyset(&set);
//     sigaddset(&set, SIGTERM);
//     int r = fin_signals_open(&s, &set);
//     while (r == 0 && fin_signals_next(&s, &info) == 0) ...
//     fin_signals_close(&s);
//
// The library handles the signals (sigaction, with SA_RESTART and SA_ONSTACK) in whichever thread the system chooses, and
// leaves all masks alone: threads that were started before, or by others, need no care, but for the few calls that are never
// restarted (signal(7)), such as poll(2) and nanosleep(2). A thread that blocks a signal does not take it; if all threads
// block it, the signal waits until one no longer does. What is sent to one thread (pthread_kill) is read like the rest.
//
// Real-time signals that several threads take may be read in another order than they were sent, as each thread notes its
// own: where the order matters, all threads but one have to block them.
//
// Like the system, a set keeps one of each ordinary signal until it is read: a reader has to look at everything that the
// signal may stand for. Of real-time signals each is kept, up to 1,024 in an open set; those beyond are counted by
// fin_signals_lost. Only 64 are kept for a user with so many pipes that the system makes the next ones small
// (fs.pipe-user-pages-soft).
//
// Several open sets may have signals in common: each set gets them. SIGCHLD may be in a set like any other: fin_wait does
// not need it, and nothing here reaps. A child of fork(2) has no sets: there the signals do what they did before the sets
// were opened. The program must not change the action of a signal while it is in an open set, nor have SIGURG in one beside
// monitored waitsets (fin/alert.h).
#ifndef FIN_SIGNALS_H
#define FIN_SIGNALS_H

#include <fin/finish.h>

#include <signal.h>

#if defined(__STRICT_ANSI__) && !defined(__cplusplus) && !defined(_POSIX_C_SOURCE) && !defined(_GNU_SOURCE)
#error "sigset_t is not C11's own: compile with -std=gnu11 (CMake: C_EXTENSIONS ON), or define _POSIX_C_SOURCE as 200809L"
#define sigset_t void // no more errors than that
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct fin_signals {
    struct fin_signal_set *set;
};

struct fin_signal_info {
    int signal;
    int code;     // as si_code: SI_USER, SI_QUEUE, CLD_EXITED ...
    int pid;      // of the sender, or of the child
    unsigned uid; // of the sender
    union {
        int status;            // SIGCHLD: as si_status
        uintptr_t value;       // SI_QUEUE: what was sent with it
        unsigned char room[8]; //
    };
    int unused_[2];
};

// Opens a set. Returns 0; -EINVAL if the set is empty or contains SIGKILL, SIGSTOP, or a signal that says that the program
// itself is at fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS); -EMFILE, -ENFILE or -ENOMEM. Does not
// block. From any thread.
int fin_signals_open(struct fin_signals *s, const sigset_t *set);

// Waits for the next signal. Returns 0; -ECANCELED, and then none was taken: the next call gets it. Blocking. Several AWEs,
// of several threads, may wait at once: each signal goes to one of them.
FIN_BLOCKING int fin_signals_next(struct fin_signals *s, struct fin_signal_info *info);
FIN_BLOCKING int fin_signals_next_nc(struct fin_signals *s, struct fin_signal_info *info);

// How many real-time signals were lost because 1,024, or as many as there was room for, had not been read. Does not block.
uint64_t fin_signals_lost(const struct fin_signals *s);

// Closes a set: each signal that is in no other open set gets back the action that it had; signals not read are forgotten.
// No wait may be in progress. Does not block (except for a handler that is at work in another thread). From any thread.
void fin_signals_close(struct fin_signals *s);

#ifdef __cplusplus
}
#endif
#endif
