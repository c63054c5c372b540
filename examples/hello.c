// SPDX-License-Identifier: BSD-2-Clause
// An HTTP/1.1 server that says hello, and an echo server. Pipelined requests are answered together. A connection waits for
// its next request without a stack, with a continuation, and gets one to work on it; with --stacks it is an async whose body
// reads like a program with one connection, and keeps its stack.
//
//   hello --serve PORT [--echo] [--stacks]     serves until it is killed
//   hello [--short]                            a server and its clients in one process; the answers are checked
#define _GNU_SOURCE
#include <errno.h>

#include <fin.h>

#include "door.h"
#include "example.h"
#include "server.h"

// ---- the server

struct connection {
    int fd;
    bool echo;
    uint8_t seen; // of a request's end
    char buffer[1024];
};

// What came is answered. False: the connection is of no more use.
static FIN_BLOCKING bool answer(struct connection *c, size_t n) {
    if (c->echo)
        return fin_send_all(c->fd, c->buffer, n, 0, NULL) == 0;
    unsigned requests = requests_in(c->buffer, n, &c->seen);
    return requests <= MOST_PIPELINED && fin_send_all(c->fd, hellos(), requests * HELLO_SIZE, 0, NULL) == 0;
}

static FIN_BLOCKING void serve_with_stack(int fd, bool echo) {
    struct connection c = {.fd = fd, .echo = echo};
    ssize_t n;
    while ((n = fin_recv(fd, c.buffer, sizeof c.buffer, 0)) > 0 && answer(&c, (size_t)n)) {
    }
    fin_close_nc(fd);
}

struct idle_connection {
    struct connection c;
    struct fin_on on;
};

static FIN_BLOCKING void received(void *state, int n) {
    struct idle_connection *i = *(struct idle_connection **)state;
    if (n > 0 && answer(&i->c, (size_t)n))
        n = fin_recv_on(&i->on, i->c.fd, i->c.buffer, sizeof i->c.buffer, 0, received, &i, sizeof i);
    fin_close_nc(i->c.fd); // it ended, or cannot go on
    free(i);
    fin_cont_end();
}

static FIN_BLOCKING void serve_without_stack(int fd, void *echo) {
    struct idle_connection *i = malloc(sizeof *i);
    EXPECT(i);
    i->c = (struct connection){.fd = fd, .echo = *(bool *)echo};
    int refused = fin_recv_on(&i->on, fd, i->c.buffer, sizeof i->c.buffer, 0, received, &i, sizeof i);
    received(&i, refused); // otherwise it does not return
}

static FIN_BLOCKING void serve_with_stacks(int listener, bool echo) {
    fin_finish {
        for (int fd; (fd = fin_accept(listener, NULL, NULL)) != -ECANCELED;) {
            if (fd < 0) {
                fin_sleep(10 * FIN_MS);
            } else {
                fin_async_eager { serve_with_stack(fd, echo); }; // eager: it always waits for the first request
            }
        }
    }
}

static bool stacks;

// Until it is cancelled, with all its connections.
static FIN_BLOCKING void serve(int listener, bool echo) {
    struct door door = {.listener = listener, .serve = serve_without_stack, .with = &echo}, *d = &door;
    if (stacks) {
        serve_with_stacks(listener, echo);
        return;
    }
    fin_finish {
        EXPECT(fin_async_cont(keep_door, &d, sizeof d));
    }
}

// ---- clients that check the answers

enum { CLIENTS = 100, TURNS = 50, PIPELINED = 3 };

static FIN_BLOCKING void receive_all(int fd, char *buffer, size_t size) {
    for (size_t have = 0; have < size;) {
        ssize_t n = fin_recv(fd, buffer + have, size - have, 0);
        EXPECT(n > 0);
        have += (size_t)n;
    }
}

static FIN_BLOCKING void exchange(int fd, const char *question, size_t question_size, const char *answer,
                                  size_t answer_size) {
    char buffer[512];
    EXPECT(answer_size <= sizeof buffer);
    EXPECT(fin_send_all(fd, question, question_size, 0, NULL) == 0);
    receive_all(fd, buffer, answer_size);
    EXPECT(memcmp(buffer, answer, answer_size) == 0);
}

static FIN_BLOCKING void run_client(const struct sockaddr_in *address, bool echo) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET /2 HTTP/1.1\r\n\r\nGET /3 HTTP/1.1\r\n\r\n";
    size_t whole = sizeof request - 1, part = whole - 2; // the last request's blank line comes on its own
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT(fd >= 0 && fin_connect(fd, (const struct sockaddr *)address, sizeof *address) == 0);
    for (int i = 0; i < TURNS; i++) {
        if (echo) {
            exchange(fd, request, whole, request, whole);
        } else {
            exchange(fd, request, part, hellos(), (PIPELINED - 1) * HELLO_SIZE);
            exchange(fd, request + part, whole - part, hellos(), HELLO_SIZE);
        }
    }
    fin_close_nc(fd);
}

static FIN_BLOCKING void check(bool echo) {
    struct sockaddr_in address = {0};
    int listener = listen_on(&address);
    uint64_t start = fin_now();
    EXPECT(listener >= 0);
    fin_finish_as(server) {
        fin_async { serve(listener, echo); };
        fin_finish {
            for (int i = 0; i < CLIENTS; i++) {
                fin_async_eager { run_client(&address, echo); };
            }
        }
        fin_cancel_as(server);
    }
    close(listener);
    double seconds = (double)(fin_now() - start) / 1e9;
    printf("  %-5s %d clients, %d questions each, in one process with the server, %s stacks: %.2f s\n",
           echo ? "echo:" : "http:", CLIENTS, TURNS * (echo ? 1 : PIPELINED), stacks ? "with" : "without", seconds);
}

FIN_BLOCKING int main(int argc, char **argv) {
    only_options(argc, argv, 1, OPTIONS("--short", "--serve=", "--stacks", "--echo"));
    bool serves = has_option(argc, argv, "--serve");
    long port = option_within(argc, argv, "--serve", 1, 1, UINT16_MAX);
    stacks = has_option(argc, argv, "--stacks");
    if (serves) {
        struct sockaddr_in address = {.sin_port = htons((uint16_t)port)};
        raise_descriptors(1000000);
        int listener = listen_on(&address);
        if (listener < 0) {
            perror("hello");
            return 1;
        }
        serve(listener, has_option(argc, argv, "--echo"));
        return 0;
    }
    printf("  I/O through %s\n", fin_io_backend());
    for (int kind = 0; kind < 2; kind++) {
        check(false);
        check(true);
        stacks = !stacks;
    }
    return 0;
}
