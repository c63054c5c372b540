// SPDX-License-Identifier: BSD-2-Clause
// Channels by name: Unix sockets, over which an end is offered to each that connects.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fin/io.h>

#include "chan/chan.h"
#include "chan/offer.h"

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
        l->fd = new_socket(0);
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

// A user may have only so many descriptors under way between processes.
static FIN_BLOCKING int send_patiently(struct offer *o, int fd, bool nc) {
    int r = fin_offer_send(o, fd);
    for (uint64_t ns = FIN_MS; may_pass(r) && ns <= 64 * FIN_MS; ns *= 2) {
        int cancelled = nc ? fin_sleep_nc(ns) : fin_sleep(ns);
        r = cancelled ? cancelled : fin_offer_send(o, fd);
    }
    return r;
}

// The end is made first: who was accepted is not turned away for a lack of descriptors or memory.
static FIN_BLOCKING int accept_it(struct fin_chan_listener *l, struct fin_chan **out, bool nc) {
    struct offer o;
    int r = fin_offer_make(&o, &l->options);
    if (r != 0)
        return r;
    for (;;) {
        int fd = nc ? fin_accept4_nc(l->fd, NULL, NULL, SOCK_CLOEXEC) : fin_accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) {
            fin_offer_drop(&o);
            return fd;
        }
        r = send_patiently(&o, fd, nc);
        if (r == 0)
            break;
        close(fd);
        if (!is_gone(r)) {
            fin_offer_drop(&o);
            return r;
        }
    }
    *out = o.chan;
    return 0;
}

int fin_chan_accept(struct fin_chan_listener *l, struct fin_chan **out) { return accept_it(l, out, false); }
int fin_chan_accept_nc(struct fin_chan_listener *l, struct fin_chan **out) { return accept_it(l, out, true); }

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
    const struct sockaddr *to = (const struct sockaddr *)&a;
    r = nc ? fin_connect_nc(fd, to, size) : fin_connect(fd, to, size);
    if (r != 0) {
        close(fd);
        return r;
    }
    return nc ? fin_chan_take_nc(out, fd, flags) : fin_chan_take(out, fd, flags);
}

int fin_chan_connect(struct fin_chan **out, const char *name, unsigned flags) { return connect_it(out, name, flags, false); }
int fin_chan_connect_nc(struct fin_chan **out, const char *name, unsigned flags) {
    return connect_it(out, name, flags, true);
}
