// SPDX-License-Identifier: BSD-2-Clause
// Connects the clients, a bounded number at a time: the server's queue of new connections is limited. Their addresses are
// spread over 127.0.0.0/8: one address has fewer ports than some servers have clients.
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

enum { AT_ONCE = 512, PER_ADDRESS = 8000 };

int load_socket(struct load *l, int i, bool block) {
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + (uint32_t)i / PER_ADDRESS)};
    struct linger reset = {.l_onoff = 1}; // closing leaves nothing in TIME_WAIT: the ports are free for the next server
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (block ? 0 : SOCK_NONBLOCK), 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&own, sizeof own) == 0 &&
        (connect(fd, (struct sockaddr *)&l->server, sizeof l->server) == 0 || errno == EINPROGRESS))
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static void count_lost(struct load *l, int error) {
    if (l->lost++ == 0)
        l->error = error;
}

void load_lost(struct load *l, struct client *c, int error) {
    if (c->fd < 0)
        return;
    close(c->fd);
    c->fd = -1;
    l->settled += !c->connected;
    l->connected -= c->connected;
    count_lost(l, error);
}

void load_connected(struct load *l, struct client *c) {
    int error = 0;
    socklen_t size = sizeof error;
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = (uint32_t)(c - l->clients)};
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 ||
        (error == 0 && epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &e) != 0))
        error = errno;
    if (error != 0) {
        load_lost(l, c, error);
        return;
    }
    c->connected = true;
    l->settled++;
    l->connected++;
}

void load_connect_more(struct load *l) {
    while (l->begun < l->wanted && l->begun - l->settled < AT_ONCE) {
        int i = l->begun++;
        struct epoll_event e = {.events = EPOLLOUT, .data.u32 = (uint32_t)i};
        struct client *c = &l->clients[i];
        *c = (struct client){.fd = load_socket(l, i, false)};
        if (c->fd < 0 || epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &e) != 0) {
            int error = errno;
            if (c->fd >= 0)
                close(c->fd);
            c->fd = -1;
            l->settled++;
            count_lost(l, error);
        }
    }
}
