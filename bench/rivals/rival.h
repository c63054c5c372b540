// SPDX-License-Identifier: BSD-2-Clause
// What the rivals in C share: `PROGRAM quotes|http|echo PORT`.
#ifndef FIN_RIVAL_H
#define FIN_RIVAL_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../examples/server.h"

static inline uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((noreturn)) static inline void die(const char *what) {
    perror(what);
    exit(1);
}

// Is there something to accept after this error? What cannot be accepted, for want of descriptors, is no server's speed.
static inline bool accept_again(int error) {
    if (error == EAGAIN)
        return false;
    errno = error;
    if (error != EINTR && error != ECONNABORTED)
        die("accept");
    return true;
}

static inline void *allocate(size_t size) {
    void *p = calloc(1, size);
    if (!p)
        die("calloc");
    return p;
}

static inline int rival_listen(const char *port) {
    struct sockaddr_in address = {.sin_port = htons((uint16_t)atoi(port))};
    raise_descriptors(1000000);
    int fd = listen_on(&address);
    if (fd < 0)
        die("listen");
    return fd;
}

#endif
