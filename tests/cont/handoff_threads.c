// SPDX-License-Identifier: BSD-2-Clause
// Another thread schedules one of the two of a handoff at that moment: the one that was handed the stack has it, its
// continuation does not run besides; the one that handed it over goes on once, whoever made it: that thread, the one in
// whose place it handed over, or a cancel.
#include <sched.h>
#include <string.h>

#include <fin.h>

#include "check.h"

static long rounds = 20000;

static struct fin_awe *client, *server, *target; // the other thread's
static long asked, answered; // rounds of the other thread
static int scheduled;        // what it was told
static long delay;           // of it; of this thread, where it is negative
static long client_ran, server_ran, with_cancel, won[8];
static struct fin_finish_block *block;

static void await(const long *count, long n) {
    for (long i = 1; __atomic_load_n(count, __ATOMIC_ACQUIRE) != n; i++)
        if (i % 1000 == 0)
            sched_yield();
}

static void spin(volatile long n) {
    while (n > 0)
        n--;
}

static void racer(void *arg) {
    (void)arg;
    for (long i = 1; i <= rounds; i++) {
        await(&asked, i);
        spin(delay);
        scheduled = fin_schedule(target);
        __atomic_store_n(&answered, i, __ATOMIC_RELEASE);
    }
}

// Who ends must not be in the other thread's hands any more.
static void race_is_over(void) { await(&answered, asked); }

static void begin_race(struct fin_awe *with, long i) {
    target = with;
    delay = i;
    __atomic_store_n(&asked, asked + 1, __ATOMIC_RELEASE);
    if (i % 8 == 0)
        race_is_over(); // the other is first, also where the two threads have one processor
    spin(-i);
}

static void client_on(void *p, int result) {
    (void)p;
    client_ran++;
    with_cancel += result == -ECANCELED;
    CHECK(result == 0 || result == -ECANCELED);
    fin_cont_end();
}

static void server_on(void *p, int result) {
    (void)p;
    CHECK_EQ(result, 0);
    server_ran++;
    race_is_over();
    CHECK_EQ(fin_schedule(client), 0);
    fin_cont_end();
}

static void server_waits(void *p, int result) {
    (void)p;
    (void)result;
    server = fin_awe_self();
    fin_block_on(server_on, NULL, 0);
}

// ---- the server, which is handed the stack, is scheduled

static void to_server(long i) {
    begin_race(server, i);
    CHECK_EQ(fin_thread_handoff(client_on, NULL, 0, server), 0);
    CHECK(fin_awe_self() == server);
    race_is_over();
    CHECK(scheduled == 0 || scheduled == -EALREADY);
    CHECK_EQ(fin_schedule(client), 0);
    fin_cont_end();
}

static void to_known_server(long i) {
    begin_race(server, i);
    CHECK_EQ(fin_thread_handoff_if(server_on, client_on, NULL, 0, server), 0);
    CHECK(fin_awe_self() == server);
    race_is_over();
    CHECK(scheduled == 0 || scheduled == -EALREADY);
    CHECK_EQ(fin_thread_handoff_if(client_on, server_on, NULL, 0, client), 0);
    CHECK(fin_awe_self() == client);
    CHECK_EQ(fin_schedule(server), 0); // it ends by its continuation
    server_ran--;
    fin_block_on(client_on, NULL, 0); // which schedules this one
}

static void switch_to_server(long i) {
    begin_race(server, i);
    fin_switch_context(client_on, NULL, 0, NULL, server);
    CHECK(false);
}

// A stack of its own comes and goes meanwhile.
static void attached(long i) {
    struct fin_stack *s = fin_stack_alloc();
    begin_race(server, i);
    CHECK_EQ(fin_stack_attach(server, s, NULL), 0);
    CHECK_EQ(fin_stack_handoff(server), -EINVAL);
    CHECK(fin_stack_detach(server) == s);
    CHECK_EQ(fin_stack_attach(server, s, server_on), 0);
    fin_switch_context(client_on, NULL, 0, NULL, server);
    CHECK(false);
}

// ---- the client is scheduled, which waits from the handoff on

static void and_back(long i) {
    begin_race(client, i);
    CHECK_EQ(fin_thread_handoff(client_on, NULL, 0, server), 0);
    CHECK_EQ(fin_thread_handoff(server_on, NULL, 0, client), 0);
    CHECK(fin_awe_self() == client && client_ran == 0);
    race_is_over();
    CHECK(scheduled == 0 || scheduled == -EALREADY);
    CHECK_EQ(fin_schedule(server), 0);
    server_ran--;
    fin_block_on(client_on, NULL, 0);
}

static void or_cancelled(long i) {
    begin_race(client, i);
    CHECK_EQ(fin_thread_handoff(client_on, NULL, 0, server), 0);
    fin_cancel_block_(block);
    race_is_over();
    CHECK(scheduled == 0 || scheduled == -EALREADY);
    if (scheduled == -EALREADY) // because it had not waited yet, or because it had been cancelled
        CHECK_EQ(fin_schedule(client), -EALREADY);
    fin_cont_end();
}

// In between nobody can schedule it.
static void in_parts(long i) {
    begin_race(client, i);
    CHECK_EQ(fin_stack_handoff(server), 0);
    CHECK_EQ(fin_cont_set(client, client_on, NULL, 0), 0);
    race_is_over();
    CHECK(scheduled == 0 || scheduled == -EALREADY || scheduled == -EINVAL);
    CHECK_EQ(fin_schedule(client), scheduled == 0 ? -EALREADY : 0);
    fin_cont_end();
}

static void (*const ways[])(long) = {to_server, to_known_server, switch_to_server, attached,
                                     and_back,  or_cancelled,    in_parts};
enum { WAYS = sizeof ways / sizeof *ways };

static void client_begins(void *p, int result) {
    long i = *(long *)p;
    (void)result;
    client = fin_awe_self();
    ways[i % WAYS](i / WAYS / 2 % 300 - 150);
}

static void client_waits(void *p, int result) {
    (void)result;
    fin_block_on(client_begins, p, sizeof(long));
}

// One that has waited before is handed over from in another way than one that has not.
static void round_of(long i) {
    bool first = i / WAYS % 2;
    client_ran = server_ran = with_cancel = 0;
    fin_finish {
        block = (struct fin_finish_block *)fin_cancel_must_be_inside_fin_finish;
        fin_async_cont(server_waits, NULL, 0);
        struct fin_awe *a = fin_async_cont(first ? client_begins : client_waits, &i, sizeof i);
        if (!first) {
            fin_yield();
            CHECK_EQ(fin_schedule(a), 0);
        }
    }
    void (*way)(long) = ways[i % WAYS];
    CHECK_EQ(client_ran, 1);
    CHECK_EQ(server_ran, way == switch_to_server || way == attached);
    CHECK_EQ(with_cancel, way == or_cancelled && scheduled != 0);
    won[i % WAYS] += scheduled == 0;
}

int main(void) {
    struct fin_thread_handle t;
    if (getenv("FIN_FEW") || FIN_SANITIZED)
        rounds = 1500;
    CHECK_EQ(fin_thread_start(&t, racer, NULL), 0);
    for (long i = 0; i < rounds; i++)
        round_of(i);
    fin_thread_join_nc(&t);
    for (int i = 0; i < WAYS; i++)
        fprintf(stderr, "%ld ", won[i]);
    fprintf(stderr, "of %ld each by the other thread\n", rounds / WAYS);
    return 0;
}
