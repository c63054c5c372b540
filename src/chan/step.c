// SPDX-License-Identifier: BSD-2-Clause
// Steps of a computation between looks for alerts; with RTM, transactions that an alert aborts (htm 3.2, 4.2.2). What the
// paper misses there, memory that is not part of the transaction and registers that survive, a step does not need: it runs
// again.
#include <fin/alert.h>

#include "chan/waitset.h"
#include "rtm.h"

enum { TRIES = 3, MOST = 100 }; // aborted as often, by no alert, or by alerts, it runs plainly

static bool have_transactions(void) {
    static int known; // 1: yes, -1: no; a race writes the same value
    int k = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (k == 0) {
        k = fin_rtm_works() ? 1 : -1;
        __atomic_store_n(&known, k, __ATOMIC_RELAXED);
    }
    return k > 0;
}

static bool alerted(const struct fin_runtime *rt) { return __atomic_load_n(&rt->alerted, __ATOMIC_ACQUIRE); }

// The line of `alerted` is in the read set from the first instruction on: a store there aborts.
static bool try_step(struct fin_runtime *rt, void (*fn)(void *), void *state) {
    if (fin_rtm_begin() != FIN_RTM_STARTED)
        return false;
    if (alerted(rt))
        fin_rtm_abort();
    fn(state);
    fin_rtm_commit();
    return true;
}

int fin_monitored_step(void (*fn)(void *state), void *state) {
    struct fin_runtime *rt = fin_here();
    int aborts = 0;
    if (FIN_UNLIKELY(alerted(rt)))
        fin_alert_handle(rt);
    for (int left = have_transactions() ? TRIES : 0; left && aborts < MOST; aborts++) {
        if (try_step(rt, fn, state))
            return aborts;
        if (alerted(rt))
            fin_alert_handle(rt);
        else
            left--;
    }
    fn(state);
    return aborts;
}

const char *fin_alert_backend(void) {
    return have_transactions() ? "signal, as Linux has no user interrupts; steps are transactions"
                               : "signal, as Linux has no user interrupts; steps are plain: no RTM on this processor";
}
