// SPDX-License-Identifier: BSD-2-Clause
// What servers need that is not about how they wait: a listening socket, the quote, the least of HTTP. The servers that the
// benchmarks compare with Fin's use it too.
#ifndef FIN_EXAMPLES_SERVER_H
#define FIN_EXAMPLES_SERVER_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

// A client subscribes with four bytes, the price to begin with; after that it gets a quote at once and one every second, or
// in as many seconds as QUOTE_EVERY says in the environment: more clients, at a rate that one processor can serve.
static inline uint64_t quote_period(void) {
    static uint64_t ns;
    if (ns == 0) {
        const char *seconds = getenv("QUOTE_EVERY");
        ns = (seconds && atoi(seconds) > 0 ? (uint64_t)atoi(seconds) : 1) * 1000000000u;
    }
    return ns;
}

struct quote {
    uint64_t due;    // when it should have left, on CLOCK_MONOTONIC
    uint32_t number; // of this client's quotes
    uint32_t price;
};

static inline void next_quote(struct quote *q, uint64_t period) {
    q->due += period;
    q->number++;
    q->price += q->number % 3 - 1;
}

#define HELLO "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, world!"
enum { HELLO_SIZE = sizeof HELLO - 1, MOST_PIPELINED = 64 };

// Copies of HELLO in a row, so that the answers to pipelined requests leave together.
static inline const char *hellos(void) {
    static char copies[MOST_PIPELINED * HELLO_SIZE];
    if (!copies[0])
        for (size_t i = 0; i < sizeof copies; i++)
            copies[i] = HELLO[i % HELLO_SIZE];
    return copies;
}

// How many requests without a body end in these bytes? seen: how much of the blank line that ends one the bytes before had.
static inline unsigned requests_in(const char *bytes, size_t n, uint8_t *seen) {
    unsigned found = 0;
    uint8_t s = *seen;
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\r') {
            s = s == 2 ? 3 : 1;
        } else if (bytes[i] == '\n' && (s & 1)) {
            found += s == 3;
            s = (s + 1) & 3;
        } else {
            s = 0;
        }
    }
    *seen = s;
    return found;
}

// As many descriptors as the system gives to this user.
static inline rlim_t raise_descriptors(rlim_t wanted) {
    struct rlimit limit = {0};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return limit.rlim_cur;
    struct rlimit more = {.rlim_cur = wanted, .rlim_max = limit.rlim_max > wanted ? limit.rlim_max : wanted};
    if (setrlimit(RLIMIT_NOFILE, &more) == 0) // only root may raise rlim_max
        return wanted;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

// Listens on 127.0.0.1, on any port where the address names none, and completes the address. -1 and errno on failure.
static inline int listen_on(struct sockaddr_in *address) {
    socklen_t size = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); // accepted sockets inherit it
    if (bind(fd, (struct sockaddr *)address, size) == 0 && listen(fd, 4096) == 0 &&
        getsockname(fd, (struct sockaddr *)address, &size) == 0)
        return fd;
    close(fd);
    return -1;
}

#endif
