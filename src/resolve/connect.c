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
    bool looked_up[2]; // it has addresses
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

static FIN_BLOCKING int connect_by(struct search *s, int which, int family) {
    const struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list;
    int r = fin_getaddrinfo(s->host, s->service, &hints, &list);
    if (r != 0)
        return r;
    s->looked_up[which] = true;
    if (which == IPV6) {
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
    int r = connect_by(s, which, family);
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

// How far a family has got: it has no addresses, or they are not known; they are out of reach; or it failed otherwise.
static int distance(const struct search *s, int which) {
    int error = s->error[which];
    bool out_of_reach = error == -ENETUNREACH || error == -EHOSTUNREACH || error == -EADDRNOTAVAIL || error == -EAFNOSUPPORT;
    return s->looked_up[which] ? out_of_reach ? 2 : 3 : error != -ENODATA;
}

static int why(const struct search *s) { return s->error[distance(s, IPV4) > distance(s, IPV6) ? IPV4 : IPV6]; }

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
