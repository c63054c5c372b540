// SPDX-License-Identifier: BSD-2-Clause
// Finish blocks of AWEs without a stack: what is started in one ends before it is over, a cancel or the end of its time ends
// what waits in it and nothing else, and they nest. What must not be done is an error, and leaves the block as it was.
#include <sys/socket.h>
#include <unistd.h>

#include <fin.h>

#include "process.h"

static struct fin_finish_on f, g;
static struct fin_on on, on_beside;
static struct fin_awe *waiting;
static int fds[2];
static char byte;
static uint64_t start_of_run;

static void ends(void *name, int result) {
    LOG("%s%d ", (char *)name, result);
    fin_cont_end();
}

static void naps(void *name, int result) {
    (void)result;
    bool first = ((char *)name)[0] == 'a';
    fin_sleep_until_on(first ? &on : &on_beside, start_of_run + (first ? FIN_MS : 2 * FIN_MS), ends, name, 8);
}

static void never(void *p, int result) {
    (void)p;
    (void)result;
    CHECK(false);
}

static void run(fin_cont *cont) {
    check_log[0] = 0;
    start_of_run = fin_now();
    fin_finish {
        CHECK(fin_async_cont(cont, NULL, 0));
    }
    LOG("over ");
}

// ---- it ends when all that was started in it has ended, whoever started it

static void starts_beside(void *p, int result) {
    (void)p;
    CHECK_EQ(result, 0);
    CHECK(fin_async_cont_beside(naps, "a\0\0\0\0\0\0", 8));
    fin_cont_end();
}

static void starts(void *p, int result) {
    (void)p;
    (void)result;
    CHECK_EQ(fin_finish_open(&f), 0);
    CHECK(fin_async_cont_beside(starts_beside, NULL, 0));
    CHECK(fin_async_cont_beside(naps, "b\0\0\0\0\0\0", 8));
    CHECK_EQ(fin_finish_close(&f), -EBUSY);
    fin_finish_close_on(&f, ends, "closed\0", 8);
    CHECK(false);
}

static void starts_and_stays(void *p, int result) {
    (void)p;
    (void)result;
    CHECK_EQ(fin_finish_open(&f), 0);
    CHECK(fin_async_cont_beside(naps, "a\0\0\0\0\0\0", 8));
    CHECK(fin_async_cont_beside(naps, "b\0\0\0\0\0\0", 8));
    CHECK_EQ(fin_finish_close_wait(&f), 0);
    LOG("closed ");
    fin_sleep(FIN_MS); // the step goes on in the block around
    fin_cont_end();
}

// ---- a cancel is of the block alone

static void goes_on(void *p, int result) {
    (void)p;
    LOG("slept%d ", result);
    fin_cont_end();
}

static void closes(void *p, int result) {
    (void)p;
    LOG("in%d ", result);
    CHECK(fin_cancelled() == (result == -ECANCELED));
    LOG("close%d ", fin_finish_close(&f));
    CHECK(!fin_cancelled());
    fin_sleep_on(&on, FIN_MS, goes_on, NULL, 0);
}

static void cancels(void *p, int result) {
    (void)p;
    (void)result;
    fin_finish_cancel(&f);
    fin_cont_end();
}

static void is_cancelled(void *p, int result) {
    (void)p;
    (void)result;
    CHECK(fin_async_cont_beside(cancels, NULL, 0));
    CHECK_EQ(fin_finish_open(&f), 0);
    fin_block_on(closes, NULL, 0);
}

// An item that somebody else's wait in the block added is run as well, and a wait that begins later is refused.
static void late(void *p, int result) {
    (void)p;
    LOG("late%d ", result);
    fin_cont_end();
}
static void sleeps_late(void *p, int result) {
    (void)p;
    LOG("first%d ", result);
    fin_sleep_on(&on, FIN_S, late, NULL, 0);
}
static void cancels_all(void *p, int result) {
    (void)p;
    (void)result;
    CHECK_EQ(fin_finish_open(&f), 0);
    CHECK(fin_async_cont_beside(sleeps_late, NULL, 0));
    fin_finish_cancel(&f);
    CHECK(fin_cancelled());
    CHECK_EQ(fin_sleep(FIN_S), -ECANCELED);
    fin_finish_close_on(&f, ends, "closed\0", 8);
}

// ---- time

static void receives(void *p, int result) {
    (void)p;
    (void)result;
    CHECK_EQ(fin_timeout_open(&f, FIN_MS), 0);
    fin_recv_on(&on, fds[0], &byte, 1, 0, closes, NULL, 0);
}

static void receives_in_time(void *p, int result) {
    (void)p;
    (void)result;
    CHECK_EQ(fin_deadline_open(&f, fin_now() + 100 * FIN_S), 0);
    CHECK_EQ(send(fds[1], "", 1, 0), 1);
    fin_recv_on(&on, fds[0], &byte, 1, 0, closes, NULL, 0);
}

// One that has waited in the block around before.
static void receives_again(void *p, int result) {
    (void)p;
    CHECK_EQ(result, 0);
    receives(p, result);
}
static void sleeps_first(void *p, int result) {
    (void)p;
    (void)result;
    fin_sleep_on(&on, FIN_MS, receives_again, NULL, 0);
}

static void waits_with_its_stack(void *p, int result) {
    (void)p;
    (void)result;
    CHECK_EQ(fin_timeout_open(&f, FIN_MS), 0);
    CHECK_EQ(fin_recv(fds[0], &byte, 1, 0), -ECANCELED);
    CHECK_EQ(fin_finish_close_wait(&f), 1);
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    fin_cont_end();
}

static void time_of_children(void *p, int result) {
    (void)p;
    (void)result;
    CHECK_EQ(fin_timeout_open(&f, FIN_MS), 0);
    CHECK(fin_async_cont_beside(sleeps_late, NULL, 0));
    fin_finish_close_on(&f, ends, "closed\0", 8);
}

static void no_time(void *p, int result) {
    (void)p;
    (void)result;
    CHECK_EQ(fin_timeout_open(&f, 0), 0);
    fin_sleep_on(&on, FIN_S, closes, NULL, 0);
}

// ---- nesting, and a cancel from around

static void closes_both(void *p, int result) {
    (void)p;
    LOG("in%d ", result);
    CHECK_EQ(fin_finish_close(&f), -EINVAL); // the inner one first
    CHECK_EQ(fin_finish_close_wait(&f), -EINVAL);
    CHECK_EQ(fin_finish_close_on(&f, never, NULL, 0), -EINVAL);
    CHECK_EQ(fin_finish_close(&g), 0);
    CHECK_EQ(fin_finish_close(&g), -EINVAL);
    CHECK(fin_cancelled());
    CHECK_EQ(fin_finish_close(&f), 0);
    CHECK(fin_cancelled());
    fin_cont_end();
}

static void nests(void *p, int result) {
    (void)p;
    (void)result;
    CHECK_EQ(fin_finish_open(&f), 0);
    CHECK_EQ(fin_finish_open(&g), 0);
    waiting = fin_awe_self();
    fin_block_on(closes_both, NULL, 0);
}

static void shielded(void *p, int result) {
    (void)p;
    LOG("shielded%d ", result);
    CHECK(!fin_cancelled());
    CHECK_EQ(fin_finish_close(&f), 0);
    CHECK(fin_cancelled());
    fin_block_on(goes_on, NULL, 0);
}

static void shields(void *p, int result) {
    (void)p;
    (void)result;
    CHECK_EQ(fin_finish_open_nc(&f), 0);
    waiting = fin_awe_self();
    fin_block_on(shielded, NULL, 0);
}

static void cancelled_around(void) {
    check_log[0] = 0;
    fin_finish {
        fin_async_cont(nests, NULL, 0);
        fin_yield();
        fin_cancel();
    }
    LOG("over ");
    fin_finish {
        fin_async_cont(shields, NULL, 0);
        fin_yield();
        fin_cancel();
        fin_yield();
        LOG("waits ");
        CHECK_EQ(fin_schedule(waiting), 0);
    }
    LOG("over ");
    CHECK_LOG("in-125 over waits shielded0 slept-125 over ");
}

// ---- what is refused

static void has_item(void *p) {
    (void)p;
    LOG("item ");
}

static void refused(void *p, int result) {
    (void)p;
    (void)result;
    CHECK_EQ(fin_finish_close(&f), -EINVAL); // not opened
    fin_finish {
        CHECK_EQ(fin_finish_open(&f), -EBUSY);
        CHECK_EQ(fin_timeout_open(&f, 1), -EBUSY);
    }
    struct fin_cancel_item item;
    fin_cancel_item_add(&item, has_item, NULL);
    CHECK_EQ(fin_finish_open(&f), -EBUSY);
    CHECK(fin_cancel_item_remove(&item));
    CHECK_EQ(fin_finish_open(&f), 0);
    fin_cancel_item_add(&item, has_item, NULL);
    CHECK_EQ(fin_finish_close(&f), -EBUSY);
    CHECK(fin_cancel_item_remove(&item));
    fin_finish {
        CHECK_EQ(fin_finish_close(&f), -EBUSY);
        CHECK_EQ(fin_finish_close_wait(&f), -EBUSY);
        CHECK_EQ(fin_finish_close_on(&f, never, NULL, 0), -EBUSY);
    }
    CHECK_EQ(fin_finish_close_on(&f, NULL, NULL, 0), -EINVAL);
    CHECK_EQ(fin_finish_close_on(&f, never, NULL, FIN_CONT_STATE + 1), -E2BIG);
    fin_finish_close_on(&f, ends, "closed\0", 8);
}

static void with_a_stack(void) {
    fin_finish {
        fin_async {
            CHECK_EQ(fin_finish_open(&f), -EINVAL);
            CHECK_EQ(fin_finish_close(&f), -EINVAL);
        };
        CHECK_EQ(fin_timeout_open(&f, 1), -EINVAL);
    }
}

static void is_left_open(void *p, int result) {
    (void)p;
    (void)result;
    fin_finish_open(&f);
    fin_cont_end();
}
static void left_open(void) { run(is_left_open); }

int main(void) {
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    run(starts);
    CHECK_LOG("a0 b0 closed0 over ");
    run(starts_and_stays);
    CHECK_LOG("a0 b0 closed over ");
    run(is_cancelled);
    CHECK_LOG("in-125 close0 slept0 over ");
    run(cancels_all);
    CHECK_LOG("first0 late-125 closed0 over ");
    run(receives);
    CHECK_LOG("in-125 close1 slept0 over ");
    run(sleeps_first);
    CHECK_LOG("in-125 close1 slept0 over ");
    run(receives_in_time);
    CHECK_LOG("in1 close0 slept0 over ");
    run(waits_with_its_stack);
    run(time_of_children);
    CHECK_LOG("first0 late-125 closed1 over ");
    run(no_time);
    CHECK_LOG("in-125 close1 slept0 over ");
    cancelled_around();
    run(refused);
    CHECK_LOG("closed0 over ");
    with_a_stack();
    char text[4096];
    CHECK_EQ(killed_by(left_open, text, sizeof text), SIGABRT);
    CHECK(strstr(text, "has not closed its finish block"));
    return 0;
}
