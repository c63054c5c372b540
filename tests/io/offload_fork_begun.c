// SPDX-License-Identifier: BSD-2-Clause
// fork while the pool runs functions: in the child a cancel ends the calls that wait for them, and those that the parent had
// cancelled before end at once; the child's own work runs. The parent's goes on undisturbed.
#include <sys/wait.h>

#include <fin/on.h>

#include "net.h"

enum { WITH_STACK, ON, WAITS };

static int reading, fd[2], results[WAITS];
static char bytes[WAITS];
static struct fin_on on;

static void wait_for_byte(void *arg) {
    __atomic_add_fetch(&reading, 1, __ATOMIC_SEQ_CST);
    CHECK_EQ(read(fd[0], arg, 1), 1);
}

static void ended(void *state, int result) {
    (void)state;
    results[ON] = result;
    fin_cont_end();
}

static void begins(void *state, int unused) {
    (void)unused;
    fin_offload_on(&on, wait_for_byte, &bytes[ON], ended, state, 0);
}

static void in_child(void) {
    char c;
    stream_pair(fd);
    CHECK_EQ(write(fd[1], "x", 1), 1);
    CHECK_EQ(fin_offload(wait_for_byte, &c), 0);
    CHECK_EQ(c, 'x');
    _exit(0);
}

static void forked(bool cancelled_before) {
    pid_t pid;
    reading = 0;
    memset(bytes, 0, sizeof bytes);
    fin_finish {
        fin_async { results[WITH_STACK] = fin_offload(wait_for_byte, &bytes[WITH_STACK]); };
        CHECK(fin_async_cont(begins, NULL, 0) != NULL);
        while (__atomic_load_n(&reading, __ATOMIC_SEQ_CST) < WAITS) // until they have left ASan's locks
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        if (cancelled_before)
            fin_cancel();
        pid = fork();
        CHECK(pid >= 0);
        if (pid == 0 && !cancelled_before)
            fin_cancel();
        else if (pid)
            CHECK_EQ(write(fd[1], "ab", WAITS), WAITS);
    }
    for (int i = 0; i < WAITS; i++)
        CHECK_EQ(results[i], pid ? 0 : -ECANCELED);
    if (pid == 0)
        in_child();
    CHECK_EQ(bytes[WITH_STACK] + bytes[ON], 'a' + 'b');
    ended_well(pid);
}

int main(void) {
    skip_without_forks_of_threads();
    alarm(60);
    CHECK(fin_offload_threads(WAITS) > 0);
    stream_pair(fd);
    forked(false);
    forked(true);
    return 0;
}
