// SPDX-License-Identifier: BSD-2-Clause
// The quote server in callbacks on epoll. As all periods are the same, a list does for the timers. As `sends` it waits a
// millisecond longer, as the servers on io_uring do: what is left is send(2) of the same bytes at the same times.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#include "../rival.h"

enum { EVENTS = 512 };

struct client {
    void (*ready)(struct client *c, unsigned events);
    int fd;
    bool subscribed, waiting; // in the list
    struct quote quote;
    struct client *next;
};

static struct client *first, **last = &first; // by the time of their next quote
static int events_fd, slack_ms;

static void watch(struct client *c, unsigned events, int what) {
    struct epoll_event e = {.events = events, .data.ptr = c};
    if (epoll_ctl(events_fd, what, c->fd, &e) != 0)
        die("epoll_ctl");
}

// One in the list is left to it: its next quote fails.
static void end(struct client *c) {
    if (c->waiting) {
        shutdown(c->fd, SHUT_RDWR);
        epoll_ctl(events_fd, EPOLL_CTL_DEL, c->fd, NULL);
        return;
    }
    close(c->fd);
    free(c);
}

static void serve(struct client *c) {
    ssize_t n = send(c->fd, &c->quote, sizeof c->quote, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EAGAIN) {
        watch(c, EPOLLOUT | EPOLLONESHOT, EPOLL_CTL_MOD);
        return;
    }
    if (n != sizeof c->quote) {
        end(c);
        return;
    }
    next_quote(&c->quote, quote_period());
    c->waiting = true;
    c->next = NULL;
    *last = c;
    last = &c->next;
}

static void on_client_ready(struct client *c, unsigned events) {
    if (events & EPOLLOUT) {
        watch(c, EPOLLIN, EPOLL_CTL_MOD);
        serve(c);
        return;
    }
    uint32_t price;
    ssize_t n = recv(c->fd, &price, sizeof price, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n != sizeof price || c->subscribed) {
        end(c);
        return;
    }
    c->subscribed = true;
    c->quote = (struct quote){.due = now_ns(), .price = price};
    serve(c);
}

static void on_listener_ready(struct client *listener, unsigned events) {
    int fd;
    (void)events;
    while ((fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0 || accept_again(errno)) {
        if (fd < 0)
            continue;
        struct client *c = allocate(sizeof *c);
        *c = (struct client){.ready = on_client_ready, .fd = fd};
        watch(c, EPOLLIN, EPOLL_CTL_ADD);
    }
}

// Serves who is due. Returns after how many milliseconds somebody else will be, -1: nobody waits.
static int serve_due(void) {
    uint64_t now = now_ns();
    while (first && first->quote.due <= now) {
        struct client *c = first;
        first = c->next;
        if (!first)
            last = &first;
        c->waiting = false;
        serve(c);
    }
    return first ? (int)((first->quote.due - now + 999999) / 1000000) + slack_ms : -1;
}

int main(int argc, char **argv) {
    slack_ms = argc == 3 && strcmp(argv[1], "sends") == 0;
    if (argc != 3 || (!slack_ms && strcmp(argv[1], "quotes") != 0)) {
        fprintf(stderr, "usage: %s quotes|sends PORT\n", argv[0]);
        return 2;
    }
    struct client listener = {.ready = on_listener_ready, .fd = rival_listen(argv[2])};
    if ((events_fd = epoll_create1(EPOLL_CLOEXEC)) < 0)
        die("epoll_create1");
    fcntl(listener.fd, F_SETFL, O_NONBLOCK);
    watch(&listener, EPOLLIN | EPOLLET, EPOLL_CTL_ADD);
    for (;;) {
        struct epoll_event events[EVENTS];
        int n = epoll_wait(events_fd, events, EVENTS, serve_due());
        if (n < 0 && errno != EINTR)
            die("epoll_wait");
        for (int i = 0; i < n; i++) {
            struct client *c = events[i].data.ptr;
            c->ready(c, events[i].events);
        }
    }
}
