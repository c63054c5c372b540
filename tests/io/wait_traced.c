// SPDX-License-Identifier: BSD-2-Clause
// A child that is traced has ended for who waits for it once its tracer has been told: with a stack and without, cancelled
// before that and not. Meanwhile others have their turns.
#include "child.h"

#include <sys/ptrace.h>

static struct fin_process child;
static struct fin_more_on on;
static int result, status, to_tracer;
static pid_t tracer;

static FIN_BLOCKING void waits(void *nc) { result = nc ? fin_wait_nc(&child, &status) : fin_wait(&child, &status); }

static void over(void *unused, int r) {
    (void)unused;
    result = r;
    fin_cont_end();
}

static void waits_on(void *nc, int unused) {
    (void)unused;
    if (*(bool *)nc)
        fin_wait_on_nc(&child, &status, &on, over, NULL, 0);
    else
        fin_wait_on(&child, &status, &on, over, NULL, 0);
    CHECK(false);
}

// Kills the child, which it then keeps until it is told.
static void trace(pid_t pid, int told, int tell) {
    char c = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0 && kill(pid, SIGKILL) == 0;
    if (write(tell, &c, 1) == 1 && c && read(told, &c, 1) == 1)
        waitpid(pid, NULL, __WALL);
    _exit(0);
}

static void start(void) {
    int down[2], up[2];
    char c;
    CHECK_EQ(start_shell(&child, "exec sleep 1000"), 0);
    CHECK_EQ(pipe(down), 0);
    CHECK_EQ(pipe(up), 0);
    if ((tracer = fork()) == 0)
        trace(child.pid, down[0], up[1]);
    CHECK_EQ(read(up[0], &c, 1), 1);
    close(up[0]);
    close(up[1]);
    close(down[0]);
    to_tracer = down[1];
    if (!c) {
        fin_kill(&child, SIGKILL);
        SKIP("no process may be traced here");
    }
}

static FIN_BLOCKING void still_waits(int expected) {
    CHECK_EQ(fin_sleep_nc(5 * FIN_MS), 0);
    CHECK_EQ(result, expected);
}

#define BEGIN(on_stack, nc)                                                                                                 \
    do {                                                                                                                    \
        result = 1;                                                                                                         \
        if (on_stack)                                                                                                       \
            fin_async_call(waits, (void *)(uintptr_t)(nc));                                                                 \
        else                                                                                                                \
            CHECK(fin_async_cont(waits_on, &(nc), sizeof(nc)) != NULL);                                                     \
        still_waits(1);                                                                                                     \
    } while (0)

static void one(bool on_stack, bool nc) {
    start();
    fin_finish {
        BEGIN(on_stack, nc);
        fin_cancel();
        still_waits(nc ? 1 : -ECANCELED);
        if (nc)
            CHECK_EQ(write(to_tracer, "", 1), 1);
    }
    if (!nc) { // once more: it has not been reaped
        fin_finish {
            BEGIN(on_stack, nc);
            CHECK_EQ(write(to_tracer, "", 1), 1);
        }
    }
    CHECK_EQ(result, 0);
    CHECK_EQ(WTERMSIG(status), SIGKILL);
    CHECK_EQ(waitpid(tracer, NULL, 0), tracer);
    close(to_tracer);
    no_child_left();
}

int main(void) {
    for (int i = 0; i < 4; i++)
        one(i & 1, i & 2);
    return 0;
}
