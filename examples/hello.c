// SPDX-License-Identifier: BSD-2-Clause
// An HTTP/1.1 server that says hello, and an echo server: an async for each connection, whose body reads like a program with
// one connection. Pipelined requests are answered together.
//
//   hello --serve PORT [--echo]     serves until it is killed
//   hello [--short]                 a server and its clients in one process; the answers are checked
#define _GNU_SOURCE
#include <errno.h>

#include <fin.h>

#include "example.h"
#include "server.h"

// ---- the server

static FIN_BLOCKING bool send_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t n = fin_send(fd, data, size, 0);
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

static FIN_BLOCKING void serve_http(int fd) {
    char buffer[1024];
    uint8_t seen = 0;
    ssize_t n;
    while ((n = fin_recv(fd, buffer, sizeof buffer, 0)) > 0) {
        unsigned requests = requests_in(buffer, (size_t)n, &seen);
        if (requests > MOST_PIPELINED || !send_all(fd, hellos(), requests * HELLO_SIZE))
            break;
    }
    fin_close_nc(fd);
}

static FIN_BLOCKING void serve_echo(int fd) {
    char buffer[1024];
    ssize_t n;
    while ((n = fin_recv(fd, buffer, sizeof buffer, 0)) > 0)
        if (!send_all(fd, buffer, (size_t)n))
            break;
    fin_close_nc(fd);
}

// Until it is cancelled, with all its connections. Where descriptors run out, some connection has to end first.
static FIN_BLOCKING void serve(int listener, void (*serve_client)(int fd)) {
    fin_finish {
        for (int fd; (fd = fin_accept(listener, NULL, NULL)) != -ECANCELED;) {
            if (fd >= 0) {
                fin_async_eager { serve_client(fd); }; // eager: it always waits for the first request
            } else {
                fin_sleep(10 * FIN_MS);
            }
        }
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
    EXPECT(send_all(fd, question, question_size));
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
        fin_async { serve(listener, echo ? serve_echo : serve_http); };
        fin_finish {
            for (int i = 0; i < CLIENTS; i++) {
                fin_async_eager { run_client(&address, echo); };
            }
        }
        fin_cancel_as(server);
    }
    close(listener);
    double seconds = (double)(fin_now() - start) / 1e9;
    printf("  %-5s %d clients, %d questions each, in one process with the server: %.2f s\n",
           echo ? "echo:" : "http:", CLIENTS, TURNS * (echo ? 1 : PIPELINED), seconds);
}

FIN_BLOCKING int main(int argc, char **argv) {
    long port = option_value(argc, argv, "--serve", 0);
    if (port) {
        struct sockaddr_in address = {.sin_port = htons((uint16_t)port)};
        raise_descriptors(1000000);
        int listener = listen_on(&address);
        if (listener < 0) {
            perror("hello");
            return 1;
        }
        serve(listener, has_option(argc, argv, "--echo") ? serve_echo : serve_http);
        return 0;
    }
    printf("  I/O through %s\n", fin_io_backend());
    check(false);
    check(true);
    return 0;
}
