// SPDX-License-Identifier: BSD-2-Clause
// The paper's figures 4 and 5: handing the stack over, recognizing a continuation, calling one, switching.
#include <string.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"
#include "call.h"

static struct fin_stats before, after;

// A null RPC in one thread: the caller hands its stack to the server, recognizes what that one waits with, does its work in
// place, and hands the stack back the same way.
static void client_loop(void *p, int result);

static void client_receive(void *p, int result) {
    LOG("reply by its continuation ");
    client_loop(p, result);
}

static void client_loop(void *p, int result) {
    struct call c = *(struct call *)p;
    CHECK_EQ(result, 0);
    client = fin_awe_self();
    while (c.calls < 1000) {
        CHECK_EQ(fin_thread_handoff_if(server_receive, client_receive, &c, sizeof c, server), 0);
        // running as the server
        CHECK(fin_awe_self() == server && fin_cont_of(client) == client_receive);
        struct call *request = fin_cont_state(client);
        request->reply = 2 * request->request;
        CHECK_EQ(fin_thread_handoff_if(client_receive, server_receive, NULL, 0, client), 0);
        // running as the client
        CHECK(fin_awe_self() == client);
        c = *(struct call *)fin_cont_state(client);
        CHECK_EQ(c.reply, 2 * c.request);
        c.calls++;
        c.request += 3;
    }
    CHECK_EQ(fin_thread_handoff_if(client_loop, client_loop, &c, sizeof c, server), -ESRCH);
    fin_cont_end();
}

static void rpc(void) {
    fin_stats(&before);
    run_server_and(client_loop);
    fin_stats(&after);
    CHECK_EQ(after.recognized - before.recognized, 2000);
    CHECK(after.handed_off - before.handed_off >= 2000);
}

// Called, not recognized: at the base of the stack, however often.
static void *base;

static void chain(void *p, int result) {
    char here;
    long *n = p;
    CHECK_EQ(result, 17);
    CHECK(base == NULL || base == &here);
    base = FIN_SANITIZED ? NULL : &here;
    if (--*n == 0) {
        LOG("chain ");
        fin_cont_end();
    }
    fin_call_continuation(chain, 17);
    CHECK(false);
}

static void chain_begins(void *p, int result) {
    (void)result;
    *(long *)p = 100000;
    fin_call_continuation(chain, 17);
}

static void calling(void) {
    fin_finish {
        long n = 0;
        fin_async_cont(chain_begins, &n, sizeof n);
    }
    CHECK_LOG("chain ");
}

static struct fin_awe *waiter, *stackful;

static void waits(void *p, int result) {
    (void)p;
    LOG("waits%d ", result);
    waiter = fin_awe_self();
    if (result < 0)
        fin_cont_end();
    fin_block_on(waits, NULL, 0);
}

static void switches(void *p, int result) {
    (void)p;
    (void)result;
    LOG("switches ");
    fin_switch_context(waits, NULL, 0, NULL, waiter); // with a continuation: it does not come back
    CHECK(false);
}

static void between_two(void) {
    fin_finish {
        fin_async_cont(waits, NULL, 0);
        fin_yield();
        fin_async_cont(switches, NULL, 0);
        fin_yield();
        CHECK_LOG("waits0 switches waits0 ");
        fin_cancel();
    }
    CHECK_LOG("waits0 switches waits0 waits-125 waits-125 ");
}

// Between two that have waited before the stack is handed over each time.
enum { SWITCHES = 1000 };
static struct fin_awe *peers[2];
static bool one_has_ended;

static void back_and_forth(void *p, int result) {
    long n = *(long *)p;
    struct fin_awe *other = peers[(n + 1) % 2];
    CHECK_EQ(result, 0);
    CHECK(fin_awe_self() == peers[n % 2]);
    if (n >= SWITCHES) {
        if (!one_has_ended)
            CHECK_EQ(fin_schedule(other), 0);
        one_has_ended = true;
        fin_cont_end();
    }
    n += 2;
    fin_switch_context(back_and_forth, &n, sizeof n, NULL, other);
    CHECK(false);
}

static void peer_waits(void *p, int result) {
    (void)result;
    peers[*(long *)p] = fin_awe_self();
    fin_block_on(back_and_forth, p, sizeof(long));
}

static void switching(void) {
    fin_finish {
        for (long i = 0; i < 2; i++)
            fin_async_cont(peer_waits, &i, sizeof i);
        fin_yield();
        fin_stats(&before);
        CHECK_EQ(fin_schedule(peers[0]), 0);
    }
    fin_stats(&after);
    if (!FIN_SANITIZED)
        CHECK(after.handed_off - before.handed_off >= SWITCHES * 9 / 10);
}

// Handed the stack when it is in the queue already it leaves that for good: what is there when it is woken the next time
// stays there.
static struct fin_awe *hands;

static void third(void *p, int result) {
    (void)p;
    LOG("third%d ", result);
    fin_cont_end();
}

static void wakes(void *p, int result) {
    (void)p;
    CHECK_EQ(result, 0);
    CHECK(fin_async_cont_beside(third, NULL, 0));
    CHECK_EQ(fin_schedule(waiter), 0);
    fin_cont_end();
}

static void hands_to_queued(void *p, int result) {
    (void)p;
    (void)result;
    hands = fin_awe_self();
    CHECK_EQ(fin_schedule(waiter), 0);
    CHECK_EQ(fin_thread_handoff(wakes, NULL, 0, waiter), 0);
    CHECK(fin_awe_self() == waiter);
    CHECK_EQ(fin_schedule(hands), 0);
    fin_block_on(waits, NULL, 0);
}

static void to_a_queued_one(void) {
    fin_finish {
        fin_async_cont(waits, NULL, 0);
        fin_yield();
        fin_async_cont(hands_to_queued, NULL, 0);
        for (int i = 0; i < 4; i++)
            fin_yield();
        CHECK_LOG("waits0 third0 waits0 ");
        fin_cancel();
    }
    CHECK_LOG("waits0 third0 waits0 waits-125 ");
}

// From a stack to an AWE without one; and from that one's step to a stack.
static void goes_back(void *p, int result) {
    (void)p;
    (void)result;
    LOG("there ");
    fin_switch_context(waits, NULL, 0, NULL, stackful);
    CHECK(false);
}

static void from_a_stack(void) {
    fin_finish {
        fin_async {
            struct fin_awe *to = fin_async_cont(goes_back, NULL, 0);
            LOG("a ");
            CHECK_EQ(fin_switch_context(NULL, NULL, 0, &stackful, to), 0);
            LOG("b ");
            fin_cancel();
        };
        fin_yield();
    }
    CHECK_LOG("a there b waits-125 ");
}

// Two that yield to one another pass one stack.
static void turns(void *p, int result) {
    long *n = p;
    (void)result;
    if (--*n == 0)
        fin_cont_end();
    fin_yield_on(turns, n, sizeof *n);
}

static void passing(void) {
    fin_stats(&before);
    fin_finish {
        for (int i = 0; i < 100; i++) {
            long n = 1000;
            fin_async_cont(turns, &n, sizeof n);
        }
    }
    fin_stats(&after);
    CHECK_EQ(after.compressed - before.compressed, 100 * 999);
    if (!FIN_SANITIZED)
        CHECK((after.handed_off - before.handed_off) * 100 > (after.compressed - before.compressed) * 95);
    CHECK_EQ(after.stacks, before.stacks);
}

int main(void) {
    void (*all[])(void) = {rpc, calling, between_two, switching, to_a_queued_one, from_a_stack, passing};
    alarm(60); // where somebody is lost
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        check_log[0] = 0;
        all[i]();
    }
    return 0;
}
