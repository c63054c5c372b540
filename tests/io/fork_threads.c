// SPDX-License-Identifier: BSD-2-Clause
// A fork while another thread accepts: the child has not that thread, nor what that had locked.
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

#include "net.h"
#include "process.h"

static bool ready, stop;
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
    try_to_accept();
    __atomic_store_n(&ready, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        try_to_accept();
    return unused;
}

int main(void) {
    struct sockaddr_in address;
    pthread_t t;
    skip_without_forks_of_threads();
    listener = tcp_listen(&address, 8);
    CHECK_EQ(fcntl(listener, F_SETFL, O_NONBLOCK), 0); // which the processes share (fin/socket.h)
    CHECK_EQ(pthread_create(&t, NULL, accepts, NULL), 0);
    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) // the child of a fork within malloc has ASan's locks for ever
        usleep(1000);
    for (int i = 0; i < 30; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(60);
            try_to_accept();
            _exit(0);
        }
        ended_well(pid);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    CHECK_EQ(pthread_join(t, NULL), 0);
    close(listener);
    return 0;
}
