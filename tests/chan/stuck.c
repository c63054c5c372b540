// SPDX-License-Identifier: BSD-2-Clause
// Of who waits at a channel, in a process that nothing can wake, the report says at which end and for what, and who waits at
// the other.
#include <fin.h>

#include "stuck.h"

static struct fin_chan *ends[2];
static struct fin_rpc *rpc[2];
static char byte;

static void receives(void *end) { fin_chan_recv(end, &byte, 1); }

static void both_receive(void) {
    CHECK_EQ(fin_chan_pair(&ends[0], &ends[1], NULL), 0);
    fin_finish {
        fin_async_call(receives, ends[0]);
        fin_async_call(receives, ends[1]);
        fin_async_call(receives, ends[1]);
    }
}

static void receives_in_a_thread(void *end) {
    fin_finish {
        fin_async_call(receives, end);
    }
}

static void threads_receive(void) {
    struct fin_thread_handle t;
    CHECK_EQ(fin_chan_pair(&ends[0], &ends[1], NULL), 0);
    CHECK_EQ(fin_thread_start(&t, receives_in_a_thread, ends[0]), 0);
    receives_in_a_thread(ends[1]);
}

static void sends_to_nobody(void *end) {
    while (fin_chan_send(end, &byte, 1) == 0) {
    }
}

static void no_room(void) {
    CHECK_EQ(fin_chan_pair(&ends[0], &ends[1], NULL), 0);
    fin_finish {
        fin_async_call(sends_to_nobody, ends[0]);
    }
}

static void came(void *unused) {
    (void)unused;
}

static void waits_in_a_set(void *set) { fin_waitset_dispatch(set); }

static void in_a_set(void) {
    struct fin_waitset *set;
    CHECK_EQ(fin_chan_pair(&ends[0], &ends[1], NULL), 0);
    CHECK_EQ(fin_waitset_new(&set), 0);
    CHECK_EQ(fin_waitset_add(set, ends[0], came, NULL), 0);
    fin_finish {
        fin_async_call(waits_in_a_set, set);
    }
}

static void calls(void *r) { fin_rpc_call(r, &byte, 1, &byte, 1); }

static void calls_back(void *r) {
    uint32_t id;
    CHECK_EQ(fin_rpc_accept(r, &byte, 1, &id), 1);
    calls(r);
}

static void open_rpc(void) {
    CHECK_EQ(fin_chan_pair(&ends[0], &ends[1], NULL), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(fin_rpc_open(&rpc[i], ends[i], 0), 0);
}

static void calls_nobody_serves(void) {
    open_rpc();
    fin_finish {
        fin_async_call(calls_back, rpc[1]);
        fin_async_call(calls, rpc[0]);
        fin_async_call(calls, rpc[0]);
    }
}

static struct fin_awe *works;

static void works_on(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *unused) {
    (void)r, (void)id, (void)request, (void)size, (void)unused;
    fin_suspend(&works);
}

static void serves(void *r) { fin_rpc_serve(r, works_on, NULL); }

static void a_call_is_worked_on(void) {
    open_rpc();
    fin_finish {
        fin_async_call(serves, rpc[1]);
        fin_async_call(calls, rpc[0]);
    }
}

static void answered(void *state, int result) {
    (void)state;
    (void)result;
}

static void calls_without_a_stack(void *state, int result) {
    static struct fin_rpc_on on[2];
    (void)result;
    fin_rpc_call_on(rpc[0], &byte, 1, &byte, 1, &on[*(int *)state], answered, NULL, 0);
}

static void calls_without_stacks(void) {
    open_rpc();
    fin_finish {
        for (int i = 0; i < 2; i++)
            fin_async_cont(calls_without_a_stack, &i, sizeof i);
    }
}

static struct fin_chan_on on[2];

static void message_came(void *state, int result) {
    (void)state;
    (void)result;
}

static void receives_without_a_stack(void *state, int result) {
    (void)result;
    fin_chan_recv_on(ends[0], &byte, 1, &on[*(int *)state], message_came, NULL, 0);
}

// One has the turn, the other waits for it: both are waits of the library, and shown as the program's.
static void messages_without_stacks(void) {
    CHECK_EQ(fin_chan_pair(&ends[0], &ends[1], NULL), 0);
    fin_finish {
        for (int i = 0; i < 2; i++)
            fin_async_cont(receives_without_a_stack, &i, sizeof i);
    }
}

static struct scenario scenarios[] = {
    {.run = both_receive,
     .said = {"nothing can wake process", "for its turn to receive at the channel's end 0x",
              "for a message at the channel's end 0x", ", 1, 4 wait\n", ", 3 waits\n"}},
    {.run = threads_receive,
     .said = {"nothing can wake process", "for a message at the channel's end 0x", "at the other, 0x", ", 3 waits\n",
              ", 1 waits\n"}},
    {.run = no_room, .said = {"nothing can wake process", "for room for a message at the channel's end", "nobody waits\n"}},
    {.run = in_a_set, .said = {"nothing can wake process", "for an event of a waitset with 1 channel\n"}},
    {.run = calls_nobody_serves,
     .said = {"nothing can wake process", "for the answer to call 0x", ", 3 waits\n",
              "for the answer to call 0x", ", 1, 4 wait\n"}},
    {.run = a_call_is_worked_on,
     .said = {"nothing can wake process", "in works_on\n", "for the answer to call 0x", ", 4 waits\n",
              "for a request at the channel's end 0x"}},
    {.run = calls_without_stacks,
     .said = {"nothing can wake process", "continuation answered, ", "for the answer to call 0x", "nobody waits\n",
              "for the answer to call 0x"}},
    {.run = messages_without_stacks,
     .said = {"nothing can wake process", "continuation message_came, ", "for a message at the channel's end 0x",
              "continuation message_came, ", "for its turn to receive"}},
};

int main(void) {
    run_scenarios(scenarios, sizeof scenarios / sizeof *scenarios);
    return 0;
}
