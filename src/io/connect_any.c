// SPDX-License-Identifier: BSD-2-Clause
// Connecting to one of several addresses, as RFC 8305 ("happy eyeballs") has it: an async for each attempt, a limit of time
// before the next begins, and a cancel for all others when one is through (ac, figures 3 and 4).
#include <fin/socket.h>

#include <errno.h>
#include <netdb.h>
#include <unistd.h>

#include <fin/async.h>
#include <fin/cancel.h>
#include <fin/sync.h>
#include <fin/time.h>

#include "io/io.h"
#include "not_cancelled.h"

// Should the thread end meanwhile, that closes the sockets: they are held.
struct attempts {
    struct io *io;
    struct fin_finish_block *block; // of all of them
    const struct addrinfo *next;
    struct fin_event failures;
    int fd, error; // of the one that got through, or -1; why the others did not, or 0
    uint32_t place;
};

// Such an error says more about this end than about the peer.
static bool is_out_of_reach(int error) {
    return error == -ENETUNREACH || error == -EHOSTUNREACH || error == -EADDRNOTAVAIL || error == -EAFNOSUPPORT;
}

static void failed(struct attempts *all, int error) {
    if (all->error == 0 || (is_out_of_reach(all->error) && !is_out_of_reach(error)))
        all->error = error;
    fin_event_advance(&all->failures, 1);
}

static FIN_BLOCKING void attempt(void *attempts) {
    struct attempts *all = attempts;
    const struct addrinfo *to = all->next;
    int fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC, to->ai_protocol);
    if (fd < 0) {
        failed(all, -errno);
        return;
    }
    uint32_t place = fin_io_hold(all->io, fd);
    int error = fin_connect(fd, to->ai_addr, to->ai_addrlen);
    if (error == 0 && all->fd < 0) {
        all->fd = fd;
        all->place = place;
        fin_cancel_block(all->block);
        return;
    }
    fin_io_take(all->io, place);
    close(fd);
    failed(all, error);
}

// The families take turns, each in the order of the list.
struct order {
    const struct addrinfo *of[2]; // the next of the first one's family, and of the others
    int family, turn;
};

static const struct addrinfo *stream(const struct addrinfo *a, int family, bool other) {
    while (a && (a->ai_socktype != SOCK_STREAM || (a->ai_family != family) != other))
        a = a->ai_next;
    return a;
}

static void begin(struct order *o, const struct addrinfo *list) {
    while (list && list->ai_socktype != SOCK_STREAM)
        list = list->ai_next;
    o->family = list ? list->ai_family : AF_UNSPEC;
    o->of[0] = list;
    o->of[1] = stream(list, o->family, true);
    o->turn = 0;
}

static const struct addrinfo *next(struct order *o) {
    int which = o->of[o->turn] ? o->turn : !o->turn;
    const struct addrinfo *a = o->of[which];
    if (a)
        o->of[which] = stream(a->ai_next, o->family, which);
    o->turn = !which;
    return a;
}

int fin_connect_any(const struct addrinfo *list, uint64_t delay) {
    struct attempts all = {.fd = -1};
    struct order order;
    fin_event_init(&all.failures);
    begin(&order, list);
    int error = order.of[0] ? fin_io_here(&all.io) : -EINVAL;
    if (error)
        return error;
    fin_finish {
        all.block = fin_this_block();
        while (!fin_cancelled() && (all.next = next(&order))) {
            uint64_t before = fin_event_read(&all.failures);
            fin_async_call(attempt, &all);
            fin_timeout(delay) {
                fin_event_await(&all.failures, before + 1);
            }
        }
    }
    if (all.fd < 0)
        return fin_cancelled() ? -ECANCELED : all.error;
    fin_io_take(all.io, all.place);
    return all.fd;
}

int fin_connect_any_nc(const struct addrinfo *list, uint64_t delay) { NOT_CANCELLED(int, fin_connect_any(list, delay)); }
