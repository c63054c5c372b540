// SPDX-License-Identifier: BSD-2-Clause
// The quote server with a thread per client and calls that block.
#include <errno.h>
#include <pthread.h>

#include "../rival.h"

enum { STACK = 16 * 1024 };

static void *serve(void *arg) {
    int fd = (int)(intptr_t)arg;
    uint32_t price;
    if (recv(fd, &price, sizeof price, 0) == sizeof price) {
        struct quote quote = {.due = now_ns(), .price = price};
        while (send(fd, &quote, sizeof quote, MSG_NOSIGNAL) == sizeof quote) {
            next_quote(&quote, quote_period());
            struct timespec due = {.tv_sec = (time_t)(quote.due / 1000000000), .tv_nsec = (long)(quote.due % 1000000000)};
            while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR) {
            }
        }
    }
    close(fd);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 3 || strcmp(argv[1], "quotes") != 0) {
        fprintf(stderr, "usage: %s quotes PORT\n", argv[0]);
        return 2;
    }
    int listener = rival_listen(argv[2]);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK);
    for (;;) {
        pthread_t thread;
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            accept_again(errno);
        else if (pthread_create(&thread, &attr, serve, (void *)(intptr_t)fd) != 0)
            close(fd); // the system gives no more threads
    }
}
