// SPDX-License-Identifier: BSD-2-Clause
// The quote server in callbacks. All periods are the same, so clients are due in the order in which they were served: a list
// does for the timers, and one wait for all, a little longer than for the first, so that several leave together.
#include "uring.h"

struct client {
    struct operation operation;
    int fd;
    struct quote quote;
    struct client *next;
};

enum { SLACK_NS = 1000000 }; // as timers in milliseconds have it, and Fin's server

static struct client *first, **last = &first; // by the time of their next quote

static void end(struct client *c) {
    close(c->fd);
    free(c);
}

static void on_sent(struct operation *o, int result, unsigned flags) {
    struct client *c = (struct client *)o;
    (void)flags;
    if (result != sizeof c->quote) {
        end(c);
        return;
    }
    next_quote(&c->quote, quote_period());
    c->next = NULL;
    *last = c;
    last = &c->next;
}

static void send_quote(struct client *c) {
    c->operation.done = on_sent;
    uring_send(&c->operation, c->fd, &c->quote, sizeof c->quote);
}

static void on_subscription(struct operation *o, int result, unsigned flags) {
    struct client *c = (struct client *)o;
    (void)flags;
    if (result != sizeof c->quote.price) {
        end(c);
        return;
    }
    c->quote.due = now_ns();
    send_quote(c);
}

static void on_client(int fd) {
    struct client *c = allocate(sizeof *c);
    c->fd = fd;
    c->operation.done = on_subscription;
    uring_recv(&c->operation, fd, &c->quote.price, sizeof c->quote.price);
}

// Serves who is due. Returns how long nobody else will be, -1: nobody waits.
static int64_t serve_due(void) {
    uint64_t now = now_ns();
    while (first && first->quote.due <= now) {
        struct client *c = first;
        first = c->next;
        if (!first)
            last = &first;
        send_quote(c);
    }
    return first ? (int64_t)(first->quote.due - now) + SLACK_NS : -1;
}

void quotes(int listener) {
    uring_accept(listener, on_client);
    for (;;)
        uring_run(serve_due());
}
