// SPDX-License-Identifier: BSD-2-Clause
// A TLS server and its clients in one thread. The server's connections wait for records without a stack; clients are plain
// sequential code. One client reads and writes at once; one does not trust the server, and one speaks no TLS at all.
#include <arpa/inet.h>
#include <netinet/in.h>

#include <fin.h>
#include <fin/tls.h>

#include "certificate.h"
#include "door.h"
#include "example.h"

enum { CLIENTS = 20 };

struct server {
    SSL_CTX *context;
    struct sockaddr_in address;
    int listener, served, refused;
};

struct connection {
    struct server *server;
    struct fin_tls *tls;
    int fd;
    struct fin_more_on on;
};

static char heard[4096]; // by any connection, until its step waits

static void over(struct connection *c, int r) {
    ++*(r == 0 ? &c->server->served : &c->server->refused);
    if (r != 0)
        printf("  server: %s (%s)\n", strerror(-r), fin_tls_error(c->tls));
    fin_tls_free(c->tls);
    close(c->fd);
    free(c);
    fin_cont_end();
}

static FIN_BLOCKING void echo(void *state, int n);

static FIN_BLOCKING void listen_to(struct connection *c) {
    int refused = fin_tls_read_on(c->tls, heard, sizeof heard, &c->on, echo, &c, sizeof c);
    over(c, refused); // otherwise it does not return
}

// Sends back what it gets, until the client says that this was all.
static FIN_BLOCKING void echo(void *state, int n) {
    struct connection *c = *(struct connection **)state;
    char data[sizeof heard];
    if (n <= 0)
        over(c, n == 0 ? fin_tls_shutdown(c->tls) : n);
    memcpy(data, heard, (size_t)n);
    ssize_t sent = fin_tls_write(c->tls, data, (size_t)n); // never less: a record holds more
    if (sent != n)
        over(c, (int)sent);
    listen_to(c);
}

static FIN_BLOCKING void converse(int fd, void *server) {
    struct connection *c = malloc(sizeof *c);
    EXPECT(c);
    c->server = server;
    c->fd = fd;
    EXPECT(fin_tls_new(&c->tls, c->server->context, fd) == 0);
    int r = fin_tls_accept(c->tls);
    if (r != 0)
        over(c, r);
    listen_to(c);
}

static FIN_BLOCKING int connect_to(const struct server *s) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT(fd >= 0);
    EXPECT(fin_connect(fd, (const struct sockaddr *)&s->address, sizeof s->address) == 0);
    return fd;
}

// Writes without waiting for what comes back, which is read at the same time.
static FIN_BLOCKING void talk(struct fin_tls *t, int lines) {
    fin_shared long sent = 0;
    long received = 0;
    fin_finish {
        fin_async {
            for (int i = 0; i < lines; i++) {
                char line[64];
                int n = snprintf(line, sizeof line, "line %d\n", i);
                EXPECT(fin_tls_write(t, line, (size_t)n) == n);
                sent += n;
            }
            EXPECT(fin_tls_shutdown(t) == 0);
        };
        char buffer[512];
        ssize_t n;
        while ((n = fin_tls_read(t, buffer, sizeof buffer)) > 0)
            received += n;
        EXPECT(n == 0);
    }
    EXPECT(received == sent);
}

static FIN_BLOCKING int client(const struct server *s, SSL_CTX *context, int lines) {
    struct fin_tls *t;
    int fd = connect_to(s);
    EXPECT(fin_tls_new(&t, context, fd) == 0);
    int r = fin_tls_connect(t, "localhost");
    if (r == 0)
        talk(t, lines);
    else
        printf("  client: %s (%s)\n", strerror(-r), fin_tls_error(t));
    fin_tls_free(t);
    close(fd);
    return r;
}

static FIN_BLOCKING void speaks_no_tls(const struct server *s) {
    char answer[64];
    int fd = connect_to(s);
    EXPECT(fin_send(fd, "GET / HTTP/1.0\r\n\r\n", 18, 0) == 18);
    while (fin_recv(fd, answer, sizeof answer, 0) > 0) {
    }
    close(fd);
}

static void begin(struct server *s, const struct certificate *c) {
    socklen_t size = sizeof s->address;
    *s = (struct server){.context = server_context(c), .listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    s->address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    EXPECT(bind(s->listener, (struct sockaddr *)&s->address, size) == 0 && listen(s->listener, CLIENTS + 2) == 0);
    EXPECT(getsockname(s->listener, (struct sockaddr *)&s->address, &size) == 0);
}

FIN_BLOCKING int main(int argc, char **argv) {
    only_options(argc, argv, 1, OPTIONS("--short"));
    struct server server, *s = &server;
    struct certificate certificate;
    int lines = has_option(argc, argv, "--short") ? 100 : 10000;
    EXPECT(certificate_make(&certificate));
    begin(s, &certificate);
    SSL_CTX *trusting = client_context(&certificate), *distrusting = client_context(NULL);
    struct door door = {.listener = s->listener, .serve = converse, .with = s}, *d = &door;
    uint64_t start = fin_now();
    fin_finish_as(all) {
        EXPECT(fin_async_cont(keep_door, &d, sizeof d));
        fin_finish {
            for (int i = 0; i < CLIENTS; i++) {
                fin_async { EXPECT(client(s, trusting, lines) == 0); };
            }
            fin_async { EXPECT(client(s, distrusting, lines) == -EKEYREJECTED); };
            fin_async { speaks_no_tls(s); };
        }
        while (s->served + s->refused < CLIENTS + 2)
            EXPECT(fin_sleep(FIN_MS) == 0);
        fin_cancel_as(all);
    }
    EXPECT(s->served == CLIENTS && s->refused == 2);
    printf("  %d clients, %d lines each and back, in %.0f ms\n", CLIENTS, lines, (double)(fin_now() - start) / 1e6);
    SSL_CTX_free(trusting);
    SSL_CTX_free(distrusting);
    SSL_CTX_free(s->context);
    certificate_free(&certificate);
    close(s->listener);
    return 0;
}
