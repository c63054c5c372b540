// SPDX-License-Identifier: BSD-2-Clause
// Clients of an HTTP or an echo server: each sends its next request when it has the reply to the one before.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

enum { ECHO = 64 };

static const char get[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
static const char message[ECHO] = "as long as a cache line";

static void ask(struct load *l, struct client *c) {
    bool http = l->kind == &load_http;
    const char *data = http ? get : message;
    size_t size = http ? sizeof get - 1 : sizeof message;
    c->got = 0;
    c->since = load_now();
    ssize_t n = send(c->fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n != (ssize_t)size)
        load_lost(l, c, n < 0 ? errno : EMSGSIZE);
}

static int begin_echo(struct load *l) {
    l->reply = ECHO;
    return 0;
}

// One request first, to see how long a reply is: that of one server never changes.
static int begin_http(struct load *l) {
    char reply[4096];
    size_t have = 0;
    int fd = load_socket(l, 0, true);
    if (fd < 0 || send(fd, get, sizeof get - 1, MSG_NOSIGNAL) < 0) {
        perror(fd < 0 ? "fin-load: the first connection" : "fin-load: the first request");
        return -1;
    }
    while (have < sizeof reply - 1 && l->reply == 0) {
        ssize_t n = recv(fd, reply + have, sizeof reply - 1 - have, 0);
        if (n < 0)
            perror("fin-load: the first answer");
        if (n <= 0)
            break;
        have += (size_t)n;
        reply[have] = 0;
        char *blank = strstr(reply, "\r\n\r\n"), *length = blank ? strcasestr(reply, "\r\nContent-Length:") : NULL;
        if (length)
            l->reply = (uint32_t)(blank + 4 - reply) + (uint32_t)strtoul(length + 17, NULL, 10);
    }
    close(fd);
    reply[have] = 0;
    if (strncmp(reply, "HTTP/1.1 200", 12) == 0 && l->reply)
        return 0;
    fprintf(stderr, "fin-load: the first answer is not 200, or has no length: %.*s\n", (int)strcspn(reply, "\r\n"), reply);
    return -1;
}

static void grown(struct load *l, int from) {
    for (int i = from; i < l->wanted; i++)
        if (l->clients[i].fd >= 0)
            ask(l, &l->clients[i]);
    l->subscribed = l->wanted;
}

static uint64_t tick(struct load *l, uint64_t now) {
    (void)l, (void)now;
    return UINT64_MAX;
}

static void ready(struct load *l, struct client *c) {
    char buffer[4096];
    ssize_t n = recv(c->fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || c->got + (size_t)n > l->reply) {
        load_lost(l, c, n < 0 ? errno : n > 0 ? EBADMSG : 0);
        return;
    }
    c->got += (uint32_t)n;
    if (c->got < l->reply)
        return;
    load_done(l, load_now() - c->since, false);
    ask(l, c);
}

const struct kind load_http = {"http", begin_http, grown, tick, ready};
const struct kind load_echo = {"echo", begin_echo, grown, tick, ready};
