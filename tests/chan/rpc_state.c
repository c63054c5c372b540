// SPDX-License-Identifier: BSD-2-Clause
// The state of an AWE that waits in a call, for an answer, for a request or in a dispatch loop may be changed by others
// while it waits, as any other's: its continuation finds what was put there, however the wait ends.
#include "rpc.h"

enum what { CALLS, RECEIVES, ACCEPTS, SERVES, WHATS };
enum how { CANCELLED, CLOSED, ANSWERED, HOWS };
enum { BEFORE = 1, CHANGED = 2 };

static struct fin_rpc_on on;
static uint64_t buffer;
static uint32_t id;
static struct fin_awe *who;
static long seen;

static void over(void *state, int result) {
    (void)result;
    seen = *(long *)state;
    fin_cont_end();
}

static void serve(struct fin_rpc *r, uint32_t request, void *bytes, size_t size, void *arg) {
    (void)r, (void)request, (void)bytes, (void)size, (void)arg;
}

static void wait_for(void *what, int result) {
    const long x = BEFORE;
    uint64_t request = 5;
    CHECK_EQ(result, 0);
    who = fin_awe_self();
    switch (*(enum what *)what) {
    case CALLS:
        fin_rpc_call_on(caller, &request, sizeof request, &buffer, sizeof buffer, &on, over, &x, sizeof x);
        break;
    case RECEIVES:
        CHECK_EQ(fin_rpc_send(caller, &request, sizeof request, &id), 0);
        fin_rpc_recv_on(caller, id, &buffer, sizeof buffer, &on, over, &x, sizeof x);
        break;
    case ACCEPTS:
        fin_rpc_accept_on(server, &buffer, sizeof buffer, &id, &on, over, &x, sizeof x);
        break;
    default:
        fin_rpc_serve_on(server, serve, NULL, &on, over, &x, sizeof x);
    }
    CHECK(false);
}

static FIN_BLOCKING void answer(enum what what) {
    uint64_t x = 5;
    uint32_t request;
    if (what == CALLS || what == RECEIVES)
        reply_to(next_request(&x), x);
    else if (what == ACCEPTS)
        CHECK_EQ(fin_rpc_send(caller, &x, sizeof x, &request), 0);
    else
        CHECK_EQ(fin_rpc_close(caller), 0);
}

// Some turns: it waits in the thread's own way then; or, after a sleep of the thread, for the bell.
static FIN_BLOCKING void until_it_waits(bool asleep) {
    for (int i = 0; i < 60; i++)
        fin_yield();
    if (asleep)
        CHECK_EQ(fin_sleep_nc(2 * FIN_MS), 0);
}

static void changed(enum kind kind, enum what what, enum how how, bool asleep) {
    open_rpc(kind);
    bool at_caller = what == CALLS || what == RECEIVES, far_closed = how == CLOSED || (how == ANSWERED && what == SERVES);
    fin_finish_as(all) {
        CHECK(fin_async_cont(wait_for, &what, sizeof what) != NULL);
        until_it_waits(asleep);
        CHECK(fin_cont_of(who) == over);
        CHECK_EQ(*(long *)fin_cont_state(who), BEFORE);
        *(long *)fin_cont_state(who) = CHANGED;
        until_it_waits(asleep);
        CHECK_EQ(*(long *)fin_cont_state(who), CHANGED);
        seen = 0;
        if (how == CANCELLED)
            fin_cancel_as(all);
        else if (how == CLOSED)
            CHECK_EQ(fin_rpc_close(at_caller ? server : caller), 0);
        else
            answer(what);
    }
    CHECK_EQ(seen, CHANGED);
    if (!(far_closed && !at_caller))
        CHECK_EQ(fin_rpc_close(caller), 0);
    if (!(far_closed && at_caller))
        CHECK_EQ(fin_rpc_close(server), 0);
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++)
        for (enum what what = 0; what < WHATS; what++)
            for (enum how how = 0; how < HOWS; how++)
                for (int asleep = 0; asleep < 2; asleep++)
                    changed(kind, what, how, asleep);
    return 0;
}
