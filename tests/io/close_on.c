// SPDX-License-Identifier: BSD-2-Clause
// Closes with a continuation: what they say, and that a cancelled one has closed nothing, or all; those that a cancel does
// not reach; many at once, which take no stacks; chains and registered numbers.
#include <fcntl.h>

#include <fin/fixed.h>
#include <fin/linked.h>
#include <fin/on.h>

#include "net.h"

static struct fin_more_on on;
static int pair[2], result;

static void ended(void *state, int r) {
    (void)state;
    result = r;
    fin_cont_end();
}

static void closes(void *state, int unused) {
    (void)unused;
    fin_close_on(&on, *(int *)state, ended, NULL, 0);
    CHECK(false);
}

static void closes_nc(void *state, int unused) {
    (void)unused;
    fin_close_on_nc(&on, *(int *)state, ended, NULL, 0);
    CHECK(false);
}

static bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

static int run(fin_cont *cont, int fd) {
    result = -EINPROGRESS;
    fin_finish {
        CHECK(fin_async_cont(cont, &fd, sizeof fd) != NULL);
    }
    return result;
}

static void says(fin_cont *cont) {
    char c;
    stream_pair(pair);
    CHECK_EQ(run(cont, pair[0]), 0);
    CHECK(!is_open(pair[0]));
    CHECK_EQ(recv(pair[1], &c, 1, MSG_DONTWAIT), 0);
    CHECK_EQ(run(cont, pair[0]), -EBADF);
    CHECK_EQ(run(cont, -1), -EBADF);
    CHECK_EQ(run(cont, 1 << 20), -EBADF);
    CHECK_EQ(run(cont, pair[1]), 0);
    int file = nameless_file();
    CHECK_EQ(run(cont, file), 0);
    CHECK(!is_open(file));
}

// In a block that has been cancelled.
static void in_cancelled(fin_cont *cont, int expected) {
    int fd = nameless_file();
    result = -EINPROGRESS;
    fin_finish {
        CHECK(fin_async_cont(cont, &fd, sizeof fd) != NULL);
        fin_cancel();
    }
    CHECK_EQ(result, expected);
    CHECK_EQ(is_open(fd), expected != 0);
    if (expected)
        close(fd);
}

static int sent;
static char much[1 << 20];

static void sends(void *unused) {
    (void)unused;
    sent = (int)fin_send(pair[0], "x", 1, 0);
}

// It has begun, and a cancel comes before the kernel has seen it: nothing is closed, and who waits there goes on.
static void not_gone_down(void) {
    stream_pair(pair);
    while (send(pair[0], much, sizeof much, MSG_DONTWAIT) > 0)
        continue;
    sent = 0;
    result = -EINPROGRESS;
    fin_finish {
        fin_async_call(sends, NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_finish {
            CHECK(fin_async_cont(closes, &pair[0], sizeof pair[0]) != NULL);
            fin_yield();
            fin_cancel();
        }
        while (recv(pair[1], much, sizeof much, MSG_DONTWAIT) > 0)
            continue;
    }
    if (on_epoll()) {
        CHECK_EQ(result, 0); // it was closed at once
        CHECK_EQ(sent, -EBADF);
    } else {
        CHECK_EQ(result, -ECANCELED);
        CHECK_EQ(sent, 1);
        CHECK_EQ(close(pair[0]), 0);
    }
    close(pair[1]);
}

static void not_gone_down_nc(void) {
    char c;
    stream_pair(pair);
    result = -EINPROGRESS;
    fin_finish {
        CHECK(fin_async_cont(closes_nc, &pair[0], sizeof pair[0]) != NULL);
        fin_yield();
        fin_cancel();
    }
    CHECK_EQ(result, 0);
    CHECK_EQ(recv(pair[1], &c, 1, MSG_DONTWAIT), 0);
    close(pair[1]);
}

enum { MANY = 500 };
static struct connection {
    struct fin_more_on on;
    int fd;
} many[MANY];
static int well;

static void one_ended(void *state, int r) {
    (void)state;
    well += r == 0;
    fin_cont_end();
}

static void closes_one(void *state, int unused) {
    struct connection *c = *(struct connection **)state;
    (void)unused;
    fin_close_on_nc(&c->on, c->fd, one_ended, NULL, 0);
}

static void at_once(void) {
    struct fin_stats before, after;
    well = 0;
    for (int i = 0; i < MANY; i++)
        CHECK((many[i].fd = dup(0)) >= 0);
    CHECK_EQ(fin_sleep(1), 0);
    fin_stats(&before);
    fin_finish {
        for (int i = 0; i < MANY; i++) {
            struct connection *c = &many[i];
            CHECK(fin_async_cont(closes_one, &c, sizeof c) != NULL);
        }
    }
    fin_stats(&after);
    CHECK_EQ(well, MANY);
    for (int i = 0; i < MANY; i++)
        CHECK(!is_open(many[i].fd));
    CHECK(after.stacks - before.stacks < 4);
}

// ---- where a chain waits, and a later step of it uses what is closed

static int first[2], count;
static struct fin_step steps[2];

static void goes_through_chain(void *unused) {
    (void)unused;
    count = fin_linked(steps, 2);
}

static void make_chain(void) {
    static char c;
    stream_pair(first);
    stream_pair(pair);
    steps[0] = fin_step_recv(first[0], &c, 1, 0);
    steps[1] = fin_step_write(pair[0], "x", 1);
    result = -EINPROGRESS;
}

static void close_chain(void) {
    for (int i = 0; i < 2; i++) {
        close(first[i]);
        close(pair[i]);
    }
}

// The step finds it closed, and nothing else with its number.
static void named_by_a_chain(fin_cont *cont) {
    char c;
    make_chain();
    fin_finish {
        fin_async_call(goes_through_chain, NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(run(cont, pair[0]), 0);
        CHECK(!is_open(pair[0]));
        CHECK_EQ(recv(pair[1], &c, 1, MSG_DONTWAIT), 0);
        CHECK_EQ(open("/dev/null", O_WRONLY | O_CLOEXEC), pair[0]);
        CHECK_EQ(write(first[1], "x", 1), 1);
    }
    CHECK_EQ(count, 1);
    CHECK_EQ(steps[0].result, 1);
    CHECK_EQ(steps[1].result, -EBADF);
    close_chain();
}

// It waits for the chain with its stack, and is cancelled meanwhile.
static void cancelled_behind_a_chain(fin_cont *cont) {
    bool closed = cont == closes_nc || on_epoll();
    make_chain();
    fin_finish {
        fin_async_call(goes_through_chain, NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_finish {
            CHECK(fin_async_cont(cont, &pair[0], sizeof pair[0]) != NULL);
            fin_yield();
            fin_cancel();
        }
        CHECK_EQ(write(first[1], "x", 1), 1);
    }
    CHECK_EQ(result, closed ? 0 : -ECANCELED);
    CHECK_EQ(is_open(pair[0]), !closed);
    CHECK_EQ(count, closed ? 1 : 2);
    close_chain();
}

// Who looks at one that is under way sees the program's continuation.
static void is_seen(void) {
    stream_pair(pair);
    fin_finish {
        struct fin_awe *a = fin_async_cont(closes, &pair[0], sizeof pair[0]);
        fin_yield();
        if (!on_epoll())
            CHECK(fin_cont_of(a) == ended);
    }
    close(pair[1]);
}

// The number of a file that is registered is none that can be closed, and stays what it is.
static void registered(void) {
    int file = nameless_file(), number = fin_file_register(file);
    CHECK(number >= 0);
    int r = fin_close(number);
    CHECK(r < 0);
    CHECK_EQ(run(closes, number), r);
    CHECK_EQ(run(closes_nc, number), r);
    CHECK_EQ(fin_write(number, "x", 1), 1);
    CHECK_EQ(fin_file_unregister(number), 0);
    CHECK_EQ(run(closes, file), 0);
}

static void asks_wrongly(void *state, int unused) {
    static const char much_state[FIN_CONT_STATE + 1];
    int fd = *(int *)state;
    (void)unused;
    CHECK_EQ(fin_close_on(&on, fd, ended, much_state, sizeof much_state), -E2BIG);
    CHECK_EQ(fin_close_on_nc(&on, fd, ended, much_state, sizeof much_state), -E2BIG);
    CHECK_EQ(fin_close_on(&on, fd, NULL, NULL, 0), -EINVAL);
    CHECK_EQ(fin_close_on_nc(&on, fd, NULL, NULL, 0), -EINVAL);
    ended(NULL, 1);
}

static void refused(void) {
    int file = nameless_file();
    CHECK_EQ(fin_close_on(&on, file, ended, NULL, 0), -EINVAL); // not in an AWE that may go on without its stack
    CHECK_EQ(fin_close_on_nc(&on, file, ended, NULL, 0), -EINVAL);
    CHECK_EQ(run(asks_wrongly, file), 1);
    CHECK(is_open(file));
    close(file);
}

int main(void) {
    int before = 0;
    for (int i = 0; i < 3; i++) {
        says(closes);
        says(closes_nc);
        in_cancelled(closes, -ECANCELED);
        in_cancelled(closes_nc, 0);
        not_gone_down();
        not_gone_down_nc();
        at_once();
        named_by_a_chain(closes);
        named_by_a_chain(closes_nc);
        cancelled_behind_a_chain(closes);
        cancelled_behind_a_chain(closes_nc);
        is_seen();
        registered();
        refused();
        if (i == 0)
            before = open_descriptors();
    }
    CHECK_EQ(open_descriptors(), before);
    return 0;
}
