// SPDX-License-Identifier: BSD-2-Clause
// Channels by name: Unix sockets, over which an end is offered to each that connects.
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fin/chan_on.h>
#include <fin/io.h>

#include "chan/chan.h"
#include "chan/offer.h"
#include "core/told.h"

enum { BACKLOG = 128 };

struct fin_chan_listener {
    int fd;
    struct fin_chan_options options;
    struct sockaddr_un address;
};

static int address_of(const char *name, struct sockaddr_un *a, socklen_t *size) {
    size_t n = strlen(name);
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (n == 0 || n >= sizeof a->sun_path)
        return n ? -ENAMETOOLONG : -EINVAL;
    memcpy(a->sun_path, name, n);
    if (name[0] == '@')
        a->sun_path[0] = 0;
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (name[0] != '@'));
    return 0;
}

static int new_socket(int flags) {
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
    return fd < 0 ? -errno : fd;
}

// 1: nobody listens there any more; or 0. One whose queue is full would be waited for.
static int is_left_over(const struct sockaddr_un *a, socklen_t size) {
    struct stat s;
    if (!a->sun_path[0] || lstat(a->sun_path, &s) != 0 || !S_ISSOCK(s.st_mode))
        return 0;
    int fd = new_socket(SOCK_NONBLOCK);
    if (fd < 0)
        return fd;
    bool refused = connect(fd, (const struct sockaddr *)a, size) != 0 && errno == ECONNREFUSED;
    close(fd);
    return refused;
}

static int bind_it(int fd, const struct sockaddr_un *a, socklen_t size) {
    int r = bind(fd, (const struct sockaddr *)a, size) == 0 ? 0 : -errno;
    int left_over = r == -EADDRINUSE ? is_left_over(a, size) : 0;
    if (left_over <= 0)
        return left_over < 0 ? left_over : r;
    unlink(a->sun_path);
    return bind(fd, (const struct sockaddr *)a, size) == 0 ? 0 : -errno;
}

int fin_chan_listen(struct fin_chan_listener **out, const char *name, const struct fin_chan_options *options) {
    struct fin_chan_options o;
    socklen_t size;
    int r = fin_chan_options_check(options, &o);
    struct fin_chan_listener *l = r == 0 ? malloc(sizeof *l) : NULL;
    if (!l)
        return r ? r : -ENOMEM;
    *l = (struct fin_chan_listener){.fd = -1, .options = o};
    r = o.flags & FIN_CHAN_LOCAL ? -EINVAL : address_of(name, &l->address, &size);
    if (r == 0) {
        l->fd = new_socket(SOCK_NONBLOCK); // several may wait for one client
        r = l->fd < 0 ? l->fd : bind_it(l->fd, &l->address, size);
    }
    if (r == 0 && listen(l->fd, BACKLOG) != 0) {
        r = -errno;
        if (l->address.sun_path[0])
            unlink(l->address.sun_path);
    }
    if (r != 0) {
        if (l->fd >= 0)
            close(l->fd);
        free(l);
    } else {
        *out = l;
    }
    return r;
}

static bool is_gone(int error) { return error == -EPIPE || error == -ECONNRESET || error == -ENOTCONN; }
static bool may_pass(int error) { return error == -ETOOMANYREFS || error == -ENOBUFS || error == -ENOMEM; }

// A user may have only so many descriptors under way between processes. Who has been accepted is not given up by a cancel.
static FIN_BLOCKING int send_patiently(struct offer *o, int fd) {
    int r = fin_offer_send(o, fd);
    for (uint64_t ns = FIN_MS; may_pass(r) && ns <= 64 * FIN_MS; ns *= 2) {
        fin_sleep_nc(ns);
        r = fin_offer_send(o, fd);
    }
    if (r != 0)
        fin_offer_turn_away(o);
    return r;
}

enum how { WAITS, WAITS_NC, TRIES };

static FIN_BLOCKING int next_client(const struct fin_chan_listener *l, enum how how) {
    if (how != TRIES)
        return how == WAITS ? fin_accept4(l->fd, NULL, NULL, SOCK_CLOEXEC) : fin_accept4_nc(l->fd, NULL, NULL, SOCK_CLOEXEC);
    int fd;
    do
        fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
    while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    return fd < 0 ? -errno : fd;
}

// The end is made first: who was accepted is not turned away for a lack of descriptors or memory. -EAGAIN where it tries:
// nobody is in line.
static FIN_BLOCKING int accept_it(struct fin_chan_listener *l, struct fin_chan **out, enum how how) {
    struct offer o;
    int r = fin_offer_make(&o, &l->options);
    if (r != 0)
        return r;
    do {
        r = next_client(l, how);
        if (r >= 0)
            r = send_patiently(&o, r);
    } while (is_gone(r));
    if (r == 0)
        *out = o.chan;
    else
        fin_offer_drop(&o);
    return r;
}

int fin_chan_accept(struct fin_chan_listener *l, struct fin_chan **out) { return accept_it(l, out, WAITS); }
int fin_chan_accept_nc(struct fin_chan_listener *l, struct fin_chan **out) { return accept_it(l, out, WAITS_NC); }

// With a continuation: it waits until somebody is in line. What is made for that one is made then, and not kept while the
// AWE waits.
struct accept_on {
    struct fin_kept kept; // first: the address of this is the state of our continuation
    struct fin_chan_listener *listener;
    struct fin_chan **out;
    struct fin_on on;
};
_Static_assert(sizeof(struct accept_on) <= sizeof(struct fin_chan_on), "room for a wait");

static FIN_INNER FIN_BLOCKING void arrived(void *state, int result) {
    struct accept_on *w = *(struct accept_on **)state;
    if (result >= 0)
        result = accept_it(w->listener, w->out, TRIES);
    if (result == -EAGAIN) // another's
        result = fin_poll_on(&w->on, w->listener->fd, POLLIN, arrived, &w, sizeof w);
    fin_cont_tell(&w->kept, result);
}

int fin_chan_accept_on(struct fin_chan_listener *l, struct fin_chan **out, struct fin_chan_on *storage, fin_cont *cont,
                       const void *state, size_t size) {
    struct accept_on *w = (struct accept_on *)(void *)storage;
    int r = fin_cont_begin(cont, size, true);
    if (r < 0)
        return r;
    if (r > 0)
        return fin_cont_call(cont, state, size, -ECANCELED);
    fin_keep(&w->kept, cont, state, size);
    w->listener = l;
    w->out = out;
    return fin_poll_on(&w->on, l->fd, POLLIN, arrived, &w, sizeof w);
}

void fin_chan_listener_close(struct fin_chan_listener *l) {
    if (l->address.sun_path[0])
        unlink(l->address.sun_path);
    close(l->fd);
    free(l);
}

static FIN_BLOCKING int connect_it(struct fin_chan **out, const char *name, unsigned flags, bool nc) {
    struct sockaddr_un a;
    socklen_t size;
    int r = address_of(name, &a, &size), fd = r == 0 ? new_socket(0) : r;
    if (fd < 0)
        return fd;
    bool good = !(flags & ~(unsigned)FIN_CHAN_SHARED);
    struct fin_chan *c = good ? fin_chan_new(flags) : NULL;
    if (!c) {
        close(fd);
        return good ? -ENOMEM : -EINVAL;
    }
    c->sockets[FIN_CHAN_TO_TAKER] = fd;
    const struct sockaddr *to = (const struct sockaddr *)&a;
    r = nc ? fin_connect_nc(fd, to, size) : fin_connect(fd, to, size);
    if (r == 0)
        return fin_chan_take_at(c, out, nc);
    fin_chan_drop(c);
    return r;
}

int fin_chan_connect(struct fin_chan **out, const char *name, unsigned flags) { return connect_it(out, name, flags, false); }
int fin_chan_connect_nc(struct fin_chan **out, const char *name, unsigned flags) {
    return connect_it(out, name, flags, true);
}
