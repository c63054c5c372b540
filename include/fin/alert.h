// SPDX-License-Identifier: BSD-2-Clause
// Alerts: a message interrupts a computation (htm 4.2, 4.3). A thread that computes need not look for messages now and then.
// When a message comes in a monitored waitset, an AWE that waits in fin_waitset_dispatch_monitored runs at once; then the
// computation goes on where it was.
//
//     fin_waitset_monitor(w);
//     fin_async { while (fin_waitset_dispatch_monitored(w) == 0) { } };
//     fin_alert_enable();
//     for (...) sum += ...;          // may be interrupted between any two instructions
//     fin_alert_disable();
//
// Alerts are disabled until the computation enables them; an AWE enables them only for itself. While they are enabled other
// AWEs may run at any point. So meanwhile nothing of Fin may be called, nothing that is not safe in a signal handler
// (malloc, stdio), and no finish block or async may begin or end. Disable alerts around such calls; nothing is lost by that:
// an alert that comes while they are disabled is handled when they are enabled again, or when the thread looks for work.
//
//     bool was = fin_alert_disable();
//     p = malloc(n);
//     if (was)
//         fin_alert_enable();
//
// A handler of a monitored set comes before all others of its thread: where its calls of fin/chan.h need not wait they give
// nobody a turn. Where they wait the computation goes on, until it ends or another alert interrupts it.
//
// The other side of a channel is not trusted here either: all that it can do is cause alerts for nothing. The signal is
// SIGURG, which the library takes over when the first set is monitored; the signal's frame lies on the AWE's stack and takes
// some kilobytes. AWEs that an alert runs must not change the thread's signal mask. After a fork the child has no monitored
// sets.
#ifndef FIN_ALERT_H
#define FIN_ALERT_H

#include <fin/waitset.h>

#ifdef __cplusplus
extern "C" {
#endif

// The running AWE computes: from now on alerts interrupt it, until fin_alert_disable. Alerts that have come are handled
// before this returns, and if the continuation of an enclosing async has not run yet, it goes first. Not cancelled.
FIN_BLOCKING void fin_alert_enable(void);
// From now on alerts have to wait. Returns whether they were enabled. Does not block.
bool fin_alert_disable(void);

// The set's channels alert the calling thread from now on, and are not polled (htm 4.3, 5.2.1): first all of them are
// watched, then each is looked at once. What monitoring costs does not depend on their number. fin_waitset_poll undoes it,
// and so does the end of the thread, unless in a finish block. Does not block. Returns 0; -EBUSY if another thread monitors
// the set, or the program handles SIGURG; -ESHUTDOWN; -ENOMEM, or an error of fcntl(2), sigaction(2) or tgkill(2).
int fin_waitset_monitor(struct fin_waitset *w);
// Its channels are polled again. From any thread. Does not block.
void fin_waitset_poll(struct fin_waitset *w);
bool fin_waitset_is_monitored(struct fin_waitset *w);

// As fin_waitset_dispatch, for an AWE of the thread that monitors the set: an alert runs that AWE before all others. (If the
// set is not monitored, or an AWE of another thread calls it, it is fin_waitset_dispatch.)
FIN_BLOCKING int fin_waitset_dispatch_monitored(struct fin_waitset *w);
FIN_BLOCKING int fin_waitset_dispatch_monitored_nc(struct fin_waitset *w);

// Runs a step of a computation, fn(state), after a check for alerts; for code that cannot enable them. The check reads one
// line of memory, and beside it where the next message will be in each of a few channels, whose senders then need not ring:
// 16 within the process, and up to 100 altogether. What other channels of the process bring changes the one line; other
// processes beyond these 100 signal. So that the check's cost does not depend on their number, a step looks at eight of
// these places, or at as many as take a fiftieth of its time; the others' turn is in the next steps. If the processor has
// transactions (RTM) the step is one, and a change of such a line aborts it: then the event is handled and the step runs
// again. So fn must do no more than compute and store, and no C++ exception may leave it.
// Without transactions steps run plainly. A step that keeps aborting because it is too long or too large also runs plainly,
// and so do its next calls, except one now and then that tries a transaction again. A transaction takes 15 to 200 cycles
// more, depending on the processor: less than 2% of a step of 10,000 cycles, on some of one of 1,000. Returns how often the
// step aborted. Alerts must be disabled. Not cancelled.
FIN_BLOCKING int fin_monitored_step(void (*fn)(void *state), void *state);

// Says what interrupts a computation on this machine, and what a step is: "signal, ...; steps are transactions", or why they
// are not.
const char *fin_alert_backend(void);

#ifdef __cplusplus
}
#endif
#endif
