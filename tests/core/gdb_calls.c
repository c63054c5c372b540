// SPDX-License-Identifier: BSD-2-Clause
// For gdb.py and lldb.py: AWEs that wait in functions of the shared library, of which most go on in others by a jump.
#include <fin.h>

#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

static void __attribute__((noinline)) stop_here(void) { __asm__ volatile("" : : : "memory"); }

static FIN_BLOCKING void receives(void *fd) {
    char byte;
    CHECK_EQ(fin_recv(*(int *)fd, &byte, 1, 0), 0);
}

static FIN_BLOCKING void reads(void *fd) {
    char byte;
    CHECK_EQ(fin_read(*(int *)fd, &byte, 1), 0);
}

static FIN_BLOCKING void waits_for_a_signal(void *set) {
    struct fin_signal_info info;
    CHECK_EQ(fin_signals_next(set, &info), -ECANCELED);
}

int main(void) {
    int sockets[2], pipes[2];
    struct fin_signals signals;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0 && pipe(pipes) == 0);
    CHECK_EQ(fin_signals_open(&signals, &set), 0);
    fin_finish_as(all) {
        fin_async_call(receives, sockets);
        fin_async_call(reads, pipes);
        fin_async_call(waits_for_a_signal, &signals);
        fin_yield();
        stop_here();
        close(sockets[1]);
        close(pipes[1]);
        fin_sleep(FIN_MS);
        fin_cancel_as(all);
    }
    fin_signals_close(&signals);
    return 0;
}
