// SPDX-License-Identifier: BSD-2-Clause
// Steps of a computation between looks for alerts; with RTM, transactions that an alert aborts (htm 3.2, 4.2.2). What the
// paper misses there, memory that is not part of the transaction and registers that survive, a step does not need: it runs
// again.
#include <fin/alert.h>

#include "chan/waitset.h"
#include "pause.h"
#include "rtm.h"

enum { LOOKS = 50 };            // for an alert whose store is still on its way
enum { TRIES = 3, MOST = 100 }; // aborted as often, by no alert, or by alerts, it runs plainly
enum { PLAIN_AT_MOST = 255 };   // so do as many calls, after those that were tried one after the other and kept aborting

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

static bool told(struct fin_runtime *rt) { return alerted(rt) || fin_lines_changed(rt); }

// The line of `alerted` and those where messages of other processes begin are in the read set from the first instruction
// on: a store there aborts. What aborts is that the sender's processor asks for the line, and the store follows. If nobody
// waited for it, the next transaction would take the line away again, and be aborted again, by the same store.
static bool try_step(struct fin_runtime *rt, void (*fn)(void *), void *state) {
    unsigned status = fin_rtm_begin();
    if (status != FIN_RTM_STARTED) {
        for (int i = 0; status & FIN_RTM_CONFLICT && !told(rt) && i < LOOKS; i++)
            fin_arch_pause();
        return false;
    }
    if (alerted(rt) || (fin_lines_on(rt) && fin_lines_changed_now(rt)))
        fin_rtm_abort();
    fn(state);
    fin_rtm_commit();
    return true;
}

// A step that always aborts, being too large, say, is tried less and less often: after 1, 3, 7 and so on plain calls.
static bool is_worth_trying(struct fin_runtime *rt, void (*fn)(void *)) {
    if (!have_transactions())
        return false;
    if (FIN_LIKELY(rt->keeps_aborting != fn) || rt->plain_steps == 0)
        return true;
    rt->plain_steps--;
    return false;
}

static void kept_aborting(struct fin_runtime *rt, void (*fn)(void *)) {
    if (rt->keeps_aborting != fn)
        rt->plain_steps_of = 0;
    rt->keeps_aborting = fn;
    if (rt->plain_steps_of < PLAIN_AT_MOST)
        rt->plain_steps_of = 2 * rt->plain_steps_of + 1;
    rt->plain_steps = rt->plain_steps_of;
}

int fin_monitored_step(void (*fn)(void *state), void *state) {
    struct fin_runtime *rt = fin_here();
    int aborts = 0, left = 0;
    if (FIN_UNLIKELY(rt->precedes))
        fin_alert_let_first_wait(rt);
    if (FIN_UNLIKELY(rt->lines.wanted))
        fin_lines_begin(rt);
    rt->lines.looks = FIN_LINES_LOOKS;
    fin_lines_turn(rt);
    if (FIN_UNLIKELY(alerted(rt)))
        fin_alert_handle(rt);
    if (is_worth_trying(rt, fn))
        left = TRIES;
    while (left && aborts < MOST) {
        if (try_step(rt, fn, state)) {
            if (FIN_UNLIKELY(rt->keeps_aborting == fn))
                rt->keeps_aborting = NULL;
            return aborts;
        }
        aborts++;
        if (told(rt))
            fin_alert_handle(rt);
        else if (--left == 0)
            kept_aborting(rt, fn);
    }
    if (FIN_UNLIKELY(fin_lines_changed(rt)))
        fin_alert_handle(rt);
    fn(state);
    return aborts;
}

const char *fin_alert_backend(void) {
    return have_transactions() ? "signal, as Linux has no user interrupts; steps are transactions"
                               : "signal, as Linux has no user interrupts; steps are plain: no RTM on this processor";
}
