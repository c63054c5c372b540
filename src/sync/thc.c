// SPDX-License-Identifier: BSD-2-Clause
// The little of <fin/thc.h> that has no word in Fin.
#include <inttypes.h>
#include <stdio.h>

#include <fin/stats.h>
#include <fin/thc.h>

#include "core/dispatch.h"

static __thread bool stopping;
static __thread uint64_t counts[2];

void fin_thc_stop_(bool s) { stopping = s; }
bool fin_thc_stopping_(void) { return stopping; }
void fin_thc_count_(bool sent) { counts[sent]++; }

void fin_thc_schedule_(struct fin_awe *a, bool front) {
    struct fin_runtime *rt = fin_here();
    if (a && fin_state_here(rt, fin_state(a)) && (fin_state(a) & (FIN_AWE_KIND | FIN_AWE_EXPLICIT)) == FIN_AWE_SAVED) {
        if (fin_traced(rt))
            fin_trace_woken(rt, a);
        fin_set_kind(a, FIN_AWE_QUEUED);
        (front ? fin_link_front : fin_link_back)(&rt->queue, &a->link);
        return;
    }
    (front ? fin_schedule_front : fin_schedule)(a);
}

void fin_thc_dump_stats_(bool clear) {
    struct fin_stats s;
    fin_stats(&s);
    printf("THC: %" PRIu64 " sent, %" PRIu64 " received; %" PRIu64 " asyncs blocked, %" PRIu64 " suspends, %" PRIu64
           " woken by other threads, %" PRIu64 " cancel items run; %" PRIu64 " of %" PRIu64 " stacks used\n",
           counts[1], counts[0], s.detached, s.suspended, s.woken_remotely, s.cancelled, s.stacks_used, s.stacks);
    if (!clear)
        return;
    counts[0] = counts[1] = 0;
    fin_stats_clear();
}
