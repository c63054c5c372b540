// SPDX-License-Identifier: BSD-2-Clause
// Signals that interrupt the thread's sleep, with a handler that does not restart calls, interrupt no operation.
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "net.h"

enum { SIGNALS = 500 };

static _Atomic int handled, finished;

static void handler(int signal) {
    (void)signal;
    handled++;
}

// TSan keeps a signal until the fiber that it met makes a call that TSan knows, which may be never: it is sent again.
static void *shoot(void *target) {
    while (!finished) {
        int before = handled;
        pthread_kill(*(pthread_t *)target, SIGUSR1);
        for (int i = 0; handled == before && !finished && !(ON_TSAN && i == 1000); i++)
            sched_yield();
    }
    return NULL;
}

int main(void) {
    static int fd[2];
    static char c;
    struct sockaddr_in address;
    pthread_t self = pthread_self(), t;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, NULL);
    stream_pair(fd);
    int listener = tcp_listen(&address, 8);
    CHECK_EQ(pthread_create(&t, NULL, shoot, &self), 0);
    fin_finish {
        fin_async { CHECK_EQ(fin_recv(fd[0], &c, 1, 0), 1); };
        fin_async { CHECK_EQ(fin_read(fd[0], &c, 1), 1); };
        fin_async { CHECK(fin_accept(listener, NULL, NULL) >= 0); };
        while (handled < SIGNALS) {
            CHECK_EQ(fin_sleep(100 * FIN_US), 0);
            if (ON_TSAN)
                usleep(1); // the AWE's turn to have its signals
        }
        int client = socket(AF_INET, SOCK_STREAM, 0);
        CHECK_EQ(fin_connect(client, (struct sockaddr *)&address, sizeof address), 0);
        CHECK_EQ(fin_send(fd[1], "ab", 2, 0), 2);
    }
    finished = 1;
    pthread_join(t, NULL);
    return 0;
}
