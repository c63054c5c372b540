// SPDX-License-Identifier: BSD-2-Clause
// The handler that fin_waitset_dispatch_on calls may block, with its stack; it may not give that up, nor end the AWE, nor
// leave what belongs to frames: the first is refused, the others end the program.
#include <signal.h>

#include "chan.h"

static struct fin_waitset *w;
static struct fin_chan_on on;
static int told, refused, result;

static void never(void *state, int r) {
    (void)state, (void)r;
    CHECK(false);
}

static void gives_up(void *unused) {
    char p;
    CHECK_EQ(fin_chan_try_recv(b, &p, 1), 1);
    CHECK_EQ(fin_sleep(FIN_US), 0);
    refused = fin_yield_on(never, unused, 0);
    told++;
}

static void leaves_locked(void *unused) {
    static struct fin_mutex m = FIN_MUTEX_INIT;
    (void)unused;
    fin_mutex_lock_nc(&m);
}

static void ends(void *unused) {
    (void)unused;
    fin_cont_end();
}

static void over(void *state, int r) {
    (void)state;
    result = r;
    fin_cont_end();
}

static void waits(void *state, int r) {
    (void)r;
    fin_waitset_dispatch_on(w, &on, over, state, 0);
    CHECK(false);
}

static void dispatched(void (*handler)(void *), bool first) {
    open_kind(PAIR, 4096, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, handler, NULL), 0);
    result = 1;
    if (first)
        CHECK_EQ(fin_chan_send(a, "x", 1), 0);
    fin_finish {
        CHECK(fin_async_cont(waits, NULL, 0) != NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        if (!first)
            CHECK_EQ(fin_chan_send(a, "x", 1), 0);
    }
    CHECK_EQ(result, 0);
    fin_waitset_close(w);
    close_both();
}

static void dies(void *handler) { dispatched(*(void (**)(void *))handler, false); }

int main(void) {
    alarm(60);
    void (*const handlers[])(void *) = {leaves_locked, ends};
    for (int i = 0; i < 2; i++) {
        pid_t pid = child(dies, (void *)(uintptr_t)&handlers[i]);
        int status;
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
    for (int i = 0; i < 2; i++) {
        dispatched(gives_up, i);
        CHECK_EQ(refused, -EBUSY);
    }
    CHECK_EQ(told, 2);
    return 0;
}
