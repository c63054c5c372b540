// SPDX-License-Identifier: BSD-2-Clause
// From a name to a connection: an async for each family looks its addresses up, and connects to one of them. The first
// connection ends all else, so neither a name server that says nothing about one family nor addresses that lead nowhere hold
// up the other.
#include <fin/resolve.h>

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fin/async.h>
#include <fin/cancel.h>
#include <fin/socket.h>
#include <fin/sync.h>
#include <fin/time.h>

#include "not_cancelled.h"

// RFC 8305, section 8.
#define RESOLUTION_DELAY (50 * FIN_MS)
#define ATTEMPT_DELAY (250 * FIN_MS)

enum { IPV6, IPV4 };

// How far it is with IPv6, which goes first.
enum { HAS_ADDRESSES = 1, HAS_FAILED };

struct search {
    struct fin_finish_block *block;
    const char *host, *service;
    struct fin_event ipv6;
    uint64_t begun; // connecting by IPv6
    int fd, error[2];
};

static FIN_BLOCKING void let_ipv6_begin(struct search *s) {
    fin_timeout(RESOLUTION_DELAY) {
        fin_event_await(&s->ipv6, HAS_ADDRESSES);
    }
    if (s->begun) {
        fin_deadline(s->begun + ATTEMPT_DELAY) {
            fin_event_await(&s->ipv6, HAS_FAILED);
        }
    }
}

static FIN_BLOCKING int connect_by(struct search *s, int family) {
    const struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list;
    int r = fin_getaddrinfo(s->host, s->service, &hints, &list);
    if (r != 0)
        return r;
    if (family == AF_INET6) {
        s->begun = fin_now();
        fin_event_advance(&s->ipv6, HAS_ADDRESSES);
    } else {
        let_ipv6_begin(s);
    }
    r = fin_connect_any(list, ATTEMPT_DELAY);
    fin_freeaddrinfo(list);
    return r;
}

static FIN_BLOCKING void search_by(struct search *s, int which, int family) {
    int r = connect_by(s, family);
    s->error[which] = r;
    if (r >= 0 && s->fd < 0) {
        s->fd = r;
        fin_cancel_block(s->block);
    } else if (r >= 0) {
        close(r);
    }
}

static FIN_BLOCKING void search_ipv6(void *search) {
    struct search *s = search;
    search_by(s, IPV6, AF_INET6);
    fin_event_advance(&s->ipv6, HAS_FAILED);
}

static FIN_BLOCKING void search_ipv4(void *search) { search_by(search, IPV4, AF_INET); }

// How much an error says of the peer: nothing where there is no such address, and little where there is no way to it.
static int says(int error) {
    switch (error) {
    case -ENODATA:
        return 0;
    case -ENOENT:
        return 1;
    case -ENETUNREACH:
    case -EADDRNOTAVAIL:
    case -EAFNOSUPPORT:
        return 2;
    default:
        return 3;
    }
}

static int why(const struct search *s) { return s->error[says(s->error[IPV4]) > says(s->error[IPV6]) ? IPV4 : IPV6]; }

int fin_connect_host(const char *host, const char *service) {
    struct search s = {.host = host, .service = service, .fd = -1};
    fin_event_init(&s.ipv6);
    fin_finish {
        s.block = fin_this_block();
        fin_async_call(search_ipv6, &s);
        fin_async_call(search_ipv4, &s);
    }
    return s.fd >= 0 ? s.fd : fin_cancelled() ? -ECANCELED : why(&s);
}

int fin_connect_host_nc(const char *host, const char *service) { NOT_CANCELLED(int, fin_connect_host(host, service)); }
