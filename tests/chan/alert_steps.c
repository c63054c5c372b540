// SPDX-License-Identifier: BSD-2-Clause
// A message comes between any two instructions of a program that enables and disables alerts: nothing is handled while they
// are disabled, and it is handled before the computation that follows ends. The parent lets the child do some number of
// single steps, sends, lets it do some more and sends again, and so for each number. FIN_STEPS=1 tries each, otherwise
// some.
#include "alert.h"

#include <sys/ptrace.h>

static void computes(void *unused) {
    (void)unused;
    fin_alert_enable();
    for (int i = 0; i < 3; i++)
        __asm__ volatile("nop");
    CHECK(fin_alert_disable());
    disabled = true;
    for (int i = 0; i < 3; i++)
        __asm__ volatile("nop");
    disabled = false;
    fin_alert_enable();
    for (int i = 0; i < 3; i++)
        __asm__ volatile("nop");
    CHECK(fin_alert_disable());
}

static void traced(void *unused) {
    (void)unused;
    CHECK_EQ(fin_chan_take(&b, sockets[1], 0), 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, handle, b), 0);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    alarm(60);
    fin_finish_as(all) {
        fin_async_call(serve, NULL);
        fin_yield();
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        raise(SIGSTOP);
        computes(NULL);
        raise(SIGSTOP); // both have been sent
        fin_alert_enable();
        while (handled < 2) {
        }
        CHECK(fin_alert_disable());
        fin_cancel_as(all);
    }
    CHECK_EQ(handled, 2);
}

// Steps over `count` instructions, and over the signals that come meanwhile. False: it has stopped by itself.
static bool step(pid_t pid, unsigned count) {
    int status, signal = 0;
    while (count) {
        CHECK_EQ(ptrace(PTRACE_SINGLESTEP, pid, NULL, signal), 0);
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFSTOPPED(status));
        signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        if (signal == SIGSTOP)
            return false;
        count -= signal == 0;
    }
    return true;
}

static void run_to_stop(pid_t pid) {
    int status, signal = 0;
    do {
        CHECK_EQ(ptrace(PTRACE_CONT, pid, NULL, signal), 0);
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFSTOPPED(status));
        signal = WSTOPSIG(status);
    } while (signal != SIGSTOP);
}

// How many instructions there are, at most: false where it has come to the end before.
static bool one(unsigned first, unsigned second) {
    int status;
    pid_t pid = child(traced, NULL);
    CHECK_EQ(fin_chan_offer(&a, sockets[0], NULL), 0);
    CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        SKIP("ptrace is denied, or is not there");
    CHECK(WIFSTOPPED(status));
    bool more = step(pid, first);
    unsigned n = 0;
    CHECK_EQ(fin_chan_try_send(a, &n, sizeof n), 0);
    bool running = more && step(pid, second);
    n = 1;
    CHECK_EQ(fin_chan_try_send(a, &n, sizeof n), 0);
    if (running)
        run_to_stop(pid);
    int signal = 0;
    do { // to its end
        CHECK_EQ(ptrace(PTRACE_CONT, pid, NULL, signal), 0);
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        signal = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
    } while (WIFSTOPPED(status));
    if (status != 0)
        fprintf(stderr, "after %u and %u steps\n", first, second);
    CHECK_EQ(status, 0);
    CHECK_EQ(fin_chan_close(a), 0);
    return more;
}

int main(void) {
    needs_signals();
    if (on_valgrind())
        SKIP("ptrace under valgrind");
    const char *every = getenv("FIN_STEPS");
    unsigned stride = every ? (unsigned)atoi(every) : few(1) == 1 ? 7 : 1;
    unsigned i = 0;
    while (one(i, i * 5 % 61)) // the second one while the first is handled
        i += stride;
    fprintf(stderr, "%u instructions\n", i);
    CHECK(i > 30);
    return 0;
}
