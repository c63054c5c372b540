// SPDX-License-Identifier: BSD-2-Clause
// A signal has come to a set, and all who wait for it are about to look, when one of them forks. In the child the numbers
// of the set's pipe are those of other files by then: who goes on there takes nothing from them, and hears that the set is
// none. Nor does the parent's handle name a set that the child opens.
#include <signal.h>

#include "net.h"
#include "process.h"

static struct fin_signals set;
static bool forked;
static pid_t child = -1;
static int own[2], heard[2];
static const char theirs[32] = "not a signal";

static void with_a_set_of_its_own(void) {
    struct fin_signals mine;
    struct fin_signal_info i;
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    CHECK_EQ(fin_signals_open(&mine, &s), 0);
    CHECK_EQ(fin_signals_next(&set, &i), -EBADF);
    fin_signals_close(&set);
    raise(SIGUSR2); // would end it
    CHECK_EQ(fin_signals_next(&mine, &i), 0);
    CHECK_EQ(i.signal, SIGUSR2);
    fin_signals_close(&mine);
}

// The child has a pipe at those numbers, with data of its own in it.
static void in_the_child(void) {
    char back[sizeof theirs];
    CHECK_EQ(pipe(own), 0);
    CHECK_EQ(write(own[1], theirs, sizeof theirs), sizeof theirs);
    for (int i = 0; i < 10; i++)
        fin_yield();
    CHECK_EQ(read(own[0], back, sizeof back), sizeof back);
    CHECK(memcmp(back, theirs, sizeof back) == 0);
    CHECK_EQ(heard[0] + heard[1], -EBADF); // the other one
    with_a_set_of_its_own();
    _Exit(0);
}

static void heard_one(int who, int r) {
    if (child == 0)
        heard[who] = r == 0 ? 1 : r; // 0: it did not go on
    if (r != 0 || forked)
        return;
    forked = true;
    child = fork();
    CHECK(child >= 0);
    if (child == 0)
        in_the_child();
    ended_well(child);
    raise(SIGUSR1); // for the other
}

static void with_a_stack(void *unused) {
    struct fin_signal_info i;
    (void)unused;
    heard_one(0, fin_signals_next(&set, &i));
}

static struct fin_more_on on;
static struct fin_signal_info info;

static void told(void *state, int r) {
    (void)state;
    heard_one(1, r);
    fin_cont_end();
}

static void without(void *state, int unused) {
    (void)state, (void)unused;
    fin_signals_next_on(&set, &info, &on, told, NULL, 0);
    CHECK(false);
}

int main(void) {
    sigset_t s;
    skip_without_forks_of_threads();
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    for (int first = 0; first < 2; first++) { // which of the two it is
        CHECK_EQ(fin_signals_open(&set, &s), 0);
        forked = false;
        fin_finish {
            if (first == 0)
                fin_async_eager_call(with_a_stack, NULL);
            CHECK(fin_async_cont(without, NULL, 0) != NULL);
            if (first == 1)
                fin_async_eager_call(with_a_stack, NULL);
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            raise(SIGUSR1);
        }
        fin_signals_close(&set);
    }
    return 0;
}
