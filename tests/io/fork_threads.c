// SPDX-License-Identifier: BSD-2-Clause
// A fork while another thread accepts: the child has not that thread, nor what that had locked.
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

#include "net.h"
#include "process.h"

static bool stop;
static int listener;

static void try_to_accept(void) {
    fin_timeout(0) {
        CHECK_EQ(fin_accept(listener, NULL, NULL), -ECANCELED);
    }
    fin_timeout(1000) {
        CHECK_EQ(fin_accept(listener, NULL, NULL), -ECANCELED);
    }
}

static void *accepts(void *unused) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        try_to_accept();
    return unused;
}

int main(void) {
    struct sockaddr_in address;
    pthread_t t;
    if (on_valgrind())
        SKIP("what the other threads of the parent had is lost in a child: valgrind says so");
    if (ON_TSAN)
        SKIP("TSan is not for a child of several threads");
    listener = tcp_listen(&address, 8);
    CHECK_EQ(fcntl(listener, F_SETFL, O_NONBLOCK), 0); // which the processes share (fin/socket.h)
    CHECK_EQ(pthread_create(&t, NULL, accepts, NULL), 0);
    for (int i = 0; i < 30; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            alarm(60);
            try_to_accept();
            _exit(0);
        }
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK_EQ(status, 0);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    CHECK_EQ(pthread_join(t, NULL), 0);
    close(listener);
    return 0;
}
