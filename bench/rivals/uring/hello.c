// SPDX-License-Identifier: BSD-2-Clause
// The hello server and the echo server in callbacks: receive, send, receive.
#include "uring.h"

struct client {
    struct operation operation;
    int fd;
    uint8_t seen;
    const char *data; // what of it is still to be sent
    size_t left;
    char buffer[1024];
};

static void on_received(struct operation *o, int result, unsigned flags);
static const char *answers; // NULL: echo

static void receive(struct client *c) {
    c->operation.done = on_received;
    uring_recv(&c->operation, c->fd, c->buffer, sizeof c->buffer);
}

static void end(struct client *c) {
    close(c->fd);
    free(c);
}

static void on_sent(struct operation *o, int result, unsigned flags);

static void send_rest(struct client *c) {
    c->operation.done = on_sent;
    uring_send(&c->operation, c->fd, c->data, c->left);
}

static void on_sent(struct operation *o, int result, unsigned flags) {
    struct client *c = (struct client *)o;
    (void)flags;
    if (result <= 0) {
        end(c);
        return;
    }
    c->data += result;
    c->left -= (size_t)result;
    if (c->left)
        send_rest(c);
    else
        receive(c);
}

static void on_received(struct operation *o, int result, unsigned flags) {
    struct client *c = (struct client *)o;
    (void)flags;
    if (result <= 0) {
        end(c);
        return;
    }
    c->data = answers ? answers : c->buffer;
    c->left = answers ? requests_in(c->buffer, (size_t)result, &c->seen) * HELLO_SIZE : (size_t)result;
    if (c->left > MOST_PIPELINED * HELLO_SIZE)
        end(c);
    else if (c->left)
        send_rest(c);
    else
        receive(c);
}

static void on_client(int fd) {
    struct client *c = allocate(sizeof *c);
    c->fd = fd;
    receive(c);
}

void echo(int listener) {
    uring_accept(listener, on_client);
    for (;;)
        uring_run(-1);
}

void hello(int listener) {
    answers = hellos();
    echo(listener);
}
