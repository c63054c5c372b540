// SPDX-License-Identifier: BSD-2-Clause
// Channels by name: Unix sockets, over which an end is offered to each that connects.
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fin/cancel.h>
#include <fin/chan_on.h>
#include <fin/io.h>

#include "chan/chan.h"
#include "chan/name.h"
#include "chan/offer.h"
#include "core/told.h"

struct fin_chan_listener {
    int fd;
    pid_t process; // whose the name is: the child of a fork accepts there, too
    struct fin_chan_options options;
    struct chan_name name;
};

static int new_socket(int flags) {
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
    return fd < 0 ? -errno : fd;
}

int fin_chan_listen(struct fin_chan_listener **out, const char *name, const struct fin_chan_options *options) {
    struct fin_chan_options o;
    int r = fin_chan_options_check(options, &o);
    struct fin_chan_listener *l = r == 0 ? malloc(sizeof *l) : NULL;
    if (!l)
        return r ? r : -ENOMEM;
    *l = (struct fin_chan_listener){.fd = -1, .process = getpid(), .options = o};
    r = o.flags & FIN_CHAN_LOCAL ? -EINVAL : fin_chan_name_of(&l->name, name);
    if (r == 0) {
        l->fd = new_socket(SOCK_NONBLOCK); // several may wait for one client
        r = l->fd < 0 ? l->fd : fin_chan_name_take(&l->name, l->fd);
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
static FIN_BLOCKING int send_patiently(struct offer *o) {
    int r = fin_offer_send(o);
    for (uint64_t ns = FIN_MS; may_pass(r) && ns <= 64 * FIN_MS; ns *= 2) {
        fin_sleep_nc(ns);
        r = fin_offer_send(o);
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

static bool lacks(int error) { return error == -EMFILE || error == -ENFILE || error == -ENOMEM; }

// As fin_accept4 does, so that a loop around this lets others run; but where the thread has nothing to sleep with.
static FIN_BLOCKING int make_patiently(struct offer *o, const struct fin_chan_listener *l, enum how how) {
    int r = fin_offer_make(o, &l->options);
    for (uint64_t ns = FIN_MS; lacks(r) && how != TRIES && ns <= 64 * FIN_MS; ns *= 2) {
        int error = how == WAITS ? fin_sleep(ns) : fin_sleep_nc(ns);
        if (error != 0)
            return error;
        r = fin_offer_make(o, &l->options);
    }
    return r;
}

// The end is made first: who was accepted is not turned away for a lack of descriptors or memory. -EAGAIN where it tries:
// nobody is in line.
static FIN_BLOCKING int accept_it(struct fin_chan_listener *l, struct fin_chan **out, enum how how) {
    struct offer o;
    int r = how == WAITS && fin_cancelled() ? -ECANCELED : make_patiently(&o, l, how);
    if (r != 0)
        return r;
    while ((r = next_client(l, how)) >= 0) {
        fin_offer_to(&o, r);
        r = send_patiently(&o);
        if (!is_gone(r))
            break;
        if (how == TRIES) { // there may be others in line: it waits until it is told so
            r = -EAGAIN;
            break;
        }
        fin_yield(); // who comes and goes at once, without end, keeps nobody from running
    }
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
    int error = fin_cont_may_wait(cont, state, size);
    if (error)
        return error;
    fin_keep(&w->kept, cont, state, size);
    w->listener = l;
    w->out = out;
    return fin_poll_on(&w->on, l->fd, POLLIN, arrived, &w, sizeof w);
}

void fin_chan_listener_close(struct fin_chan_listener *l) {
    fin_chan_name_give(&l->name, l->process == getpid());
    close(l->fd);
    free(l);
}

static FIN_BLOCKING int connect_it(struct fin_chan **out, const char *name, unsigned flags, bool nc) {
    struct chan_name a;
    int r = !nc && fin_cancelled() ? -ECANCELED : fin_chan_name_of(&a, name), fd = r == 0 ? new_socket(0) : r;
    if (fd < 0)
        return fd;
    bool good = !(flags & ~(unsigned)FIN_CHAN_SHARED);
    struct fin_chan *c = good ? fin_chan_new(flags) : NULL;
    if (!c) {
        close(fd);
        return good ? -ENOMEM : -EINVAL;
    }
    c->sockets[FIN_CHAN_TO_TAKER] = fd;
    const struct sockaddr *to = (const struct sockaddr *)&a.address;
    r = nc ? fin_connect_nc(fd, to, a.size) : fin_connect(fd, to, a.size);
    if (r == 0)
        return fin_chan_take_at(c, out, nc);
    fin_chan_drop(c);
    return r;
}

int fin_chan_connect(struct fin_chan **out, const char *name, unsigned flags) { return connect_it(out, name, flags, false); }
int fin_chan_connect_nc(struct fin_chan **out, const char *name, unsigned flags) {
    return connect_it(out, name, flags, true);
}
