// SPDX-License-Identifier: BSD-2-Clause
// For top.py: AWEs that wait in all the ways there are, until the standard input ends.
#include <fin.h>
#include <fin/awe_id.h>

#include <unistd.h>

#include "no_stack.h"

static struct fin_awe *suspended;
static struct fin_sem never = FIN_SEM_INIT(0);
static struct fin_chan_on receiving;
static char byte;
static uint32_t id;

static void suspends(void *arg) {
    (void)arg;
    fin_set_name("the one é");
    fin_suspend(&suspended);
}

static void saves_itself(void *arg) {
    (void)arg;
    CHECK_EQ(fin_yield_and_save_no_dispatch(id), 0);
}

static void waits_for_a_semaphore(void *arg) {
    (void)arg;
    CHECK_EQ(fin_sem_wait(&never), -ECANCELED);
}

static void owns_a_block(void *arg) {
    (void)arg;
    fin_finish {
        for (int i = 0; i < 100; i++)
            fin_async_call(waits_for_a_semaphore, NULL);
    }
}

static void message_came(void *state, int result) {
    (void)state;
    CHECK_EQ(result, -ECANCELED);
    fin_cont_end();
}

// The library waits in its stead.
static void receives(void *chan) { fin_chan_recv_on(chan, &byte, 1, &receiving, message_came, NULL, 0); }

// Without a stack, at the end of a finish block.
static struct fin_finish_on block;

static void ends(void *state, int result) {
    (void)state, (void)result;
    fin_cont_end();
}

static void closed(void *state, int result) { ends(state, result); }

static void is_inside(void *state, int result) {
    (void)result;
    fin_sem_wait_on(&never, *(struct fin_sync_on **)state, ends, NULL, 0);
}

static void closes(void *state, int result) {
    static struct fin_sync_on on;
    struct fin_sync_on *at = &on;
    (void)state, (void)result;
    CHECK_EQ(fin_finish_open(&block), 0);
    CHECK(fin_async_cont_beside(is_inside, &at, sizeof at));
    fin_finish_close_on(&block, closed, NULL, 0);
}

static void reads(void *arg) {
    char c;
    *(int *)arg = fin_read(STDIN_FILENO, &c, 1);
}

int main(void) {
    int end = -1;
    struct fin_chan *a, *b;
    CHECK_EQ(fin_chan_pair(&a, &b, NULL), 0);
    CHECK_EQ(fin_awe_id_create(&id), 0);
    fin_finish_as(all) {
        fin_async_call(suspends, NULL);
        fin_async_call(saves_itself, NULL);
        fin_async_call(has_no_stack, NULL);
        fin_async_call(receives, a);
        fin_async_eager_call(owns_a_block, NULL);
        CHECK(fin_async_cont(closes, NULL, 0));
        puts("ready");
        fflush(stdout);
        fin_finish {
            fin_async_call(reads, &end);
        }
        CHECK_EQ(end, 0);
        CHECK_EQ(fin_schedule(suspended), 0);
        CHECK_EQ(fin_schedule(without_a_stack), 0);
        CHECK_EQ(fin_yield_to_id(id), 0);
        fin_cancel_as(all);
    }
    fin_chan_close(a);
    fin_chan_close(b);
    return 0;
}
