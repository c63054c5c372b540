// SPDX-License-Identifier: BSD-2-Clause
// Alerts: a message interrupts a computation (htm 4.2, 4.3). A thread that computes need not look for messages now and
// then: when one comes in a monitored waitset an AWE that waits in fin_waitset_dispatch_monitored runs at once, and then
// the computation goes on where it was.
//
//     fin_waitset_monitor(w);
//     fin_async { while (fin_waitset_dispatch_monitored(w) == 0) { } };
//     fin_alert_enable();
//     for (...) sum += ...;          // may be interrupted between any two instructions
//     fin_alert_disable();
//
// Alerts are disabled until the computation enables them, and what an AWE enables concerns only itself. With them enabled
// other AWEs may run at any point: so nothing of Fin may be called then, nothing that is not safe in a signal handler
// (malloc, stdio), and no finish block or async may begin or end. Around such a call they are disabled, and nothing is
// lost: enabling them handles what has come meanwhile. An alert that comes while they are disabled is handled then, or
// when the thread looks for work.
//
//     bool was = fin_alert_disable();
//     p = malloc(n);
//     if (was)
//         fin_alert_enable();
//
// The other side of a channel is not trusted here either: all that it can do is to cause alerts for nothing. The signal is
// SIGURG, which the library takes when the first set is monitored; its frame lies on the AWE's stack, some kilobytes. The
// thread's signal mask must not be changed by the AWEs that an alert runs. After a fork the child has no monitored sets.
#ifndef FIN_ALERT_H
#define FIN_ALERT_H

#include <fin/waitset.h>

#ifdef __cplusplus
extern "C" {
#endif

// The running AWE computes: alerts interrupt it from now on, until fin_alert_disable. What has come is handled before it
// returns, and what an enclosing async has left undone begins. Not cancelled.
FIN_BLOCKING void fin_alert_enable(void);
// Alerts wait from now on. Returns whether they were enabled. Does not block.
bool fin_alert_disable(void);

// The set's channels alert the calling thread, and are not polled (htm 4.3, 5.2.1): all of them are watched first, and then
// looked at. What it costs does not depend on their number. To be undone by fin_waitset_poll before the thread ends. Does
// not block. Returns 0; -EBUSY where another thread monitors it, or the program handles SIGURG;
// -ENOMEM, or an error of fcntl(2).
int fin_waitset_monitor(struct fin_waitset *w);
// Its channels are polled again. From any thread. Does not block.
void fin_waitset_poll(struct fin_waitset *w);
bool fin_waitset_is_monitored(struct fin_waitset *w);

// As fin_waitset_dispatch, by an AWE of the thread that monitors the set: an alert runs it before all others. (Where the
// set is not monitored, and where another thread's AWE calls it, there is no difference.)
FIN_BLOCKING int fin_waitset_dispatch_monitored(struct fin_waitset *w);
FIN_BLOCKING int fin_waitset_dispatch_monitored_nc(struct fin_waitset *w);

// A step of a computation, fn(state), between two looks for alerts, as which one line of memory is read however many
// channels there are: for code that cannot enable them. Where the processor has transactions (RTM) the step is one, which
// that line's change aborts: then the event is handled, and the step runs again. So fn must do no more than compute and
// store. Where there are no transactions steps run plainly; so does one that keeps aborting, being too long or too large,
// and its next calls, but for one now and then that tries again. A transaction takes 140 to 200 cycles more: less than 2%
// where a step is 10,000 cycles of work.
// Returns how often it aborted. Alerts are to be disabled. Not cancelled.
FIN_BLOCKING int fin_monitored_step(void (*fn)(void *state), void *state);

// What interrupts a computation on this machine, and what a step is: "signal, ...; steps are transactions", or why they are
// not.
const char *fin_alert_backend(void);

#ifdef __cplusplus
}
#endif
#endif
