// SPDX-License-Identifier: BSD-2-Clause
#define _GNU_SOURCE
#include "resolve/wanted.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <fin/resolve.h>

static const struct kind {
    int type, protocol;
    const char *name; // as services know it, or NULL: it has none
} kinds[FIN_RESOLVE_KINDS] = {
    {SOCK_STREAM, IPPROTO_TCP, "tcp"},
    {SOCK_DGRAM, IPPROTO_UDP, "udp"},
    {SOCK_RAW, 0, NULL},
};

enum { PORTS = UINT16_MAX + 1 };

// The number that the service is, PORTS where it is a name, or -ESRCH.
static long port_number(const char *service) {
    char *end;
    unsigned long n = strtoul(service, &end, 10);
    if (end == service)
        return PORTS;
    return *end != '\0' || *service == '-' || n >= PORTS ? -ESRCH : (long)n;
}

static long port_of_name(const char *service, const char *protocol) {
    char room[1024];
    struct servent entry, *found = NULL;
    int error = getservbyname_r(service, protocol, &entry, room, sizeof room, &found);
    return error == 0 && found ? ntohs((uint16_t)found->s_port) : -ESRCH;
}

static long port_of(const char *service, const struct kind *k, bool by_number) {
    long n = service ? port_number(service) : 0;
    if (n != PORTS)
        return n;
    return by_number || !k->name ? -ESRCH : port_of_name(service, k->name);
}

static void add_kind(struct wanted *w, const struct kind *k, long port) {
    w->kind[w->count].type = k->type;
    w->kind[w->count].protocol = k->protocol;
    w->kind[w->count++].port = (uint16_t)port;
}

static bool fits(const struct kind *k, const struct addrinfo *h) {
    bool type = !h->ai_socktype || h->ai_socktype == k->type;
    return type && (!h->ai_protocol || h->ai_protocol == k->protocol || (k->type == SOCK_RAW && h->ai_socktype));
}

// A kind that is none of those above: it is passed on as it is.
static bool is_another(const struct addrinfo *h) {
    for (unsigned i = 0; i < FIN_RESOLVE_KINDS; i++)
        if (h->ai_socktype == kinds[i].type || (!h->ai_socktype && h->ai_protocol == kinds[i].protocol))
            return h->ai_protocol && h->ai_protocol != IPPROTO_TCP && h->ai_protocol != IPPROTO_UDP;
    return h->ai_socktype || h->ai_protocol;
}

int fin_resolve_wanted_(struct wanted *w, const char *service, const struct addrinfo *hints) {
    static const struct addrinfo none;
    const struct addrinfo *h = hints ? hints : &none;
    bool any = false, by_number = h->ai_flags & AI_NUMERICSERV;
    *w = (struct wanted){.family = h->ai_family, .flags = h->ai_flags, .named = h->ai_flags & AI_CANONNAME};
    if (w->family != AF_UNSPEC && w->family != AF_INET && w->family != AF_INET6)
        return -EAFNOSUPPORT;
    for (unsigned i = 0; i < FIN_RESOLVE_KINDS; i++) {
        struct kind k = kinds[i];
        if (!fits(&k, h))
            continue;
        if (k.type == SOCK_RAW)
            k.protocol = h->ai_protocol;
        any = true;
        bool none = service && k.type == SOCK_RAW && h->ai_socktype; // as in libc
        long port = none ? -ESRCH : port_of(service, &k, by_number);
        if (port >= 0)
            add_kind(w, &k, port);
    }
    if (!any && is_another(h)) {
        struct kind k = {h->ai_socktype, h->ai_protocol, NULL};
        long port = port_of(service, &k, by_number);
        any = true;
        if (port >= 0)
            add_kind(w, &k, port);
    }
    return !any ? -EINVAL : w->count == 0 ? -ESRCH : 0;
}

struct entry {
    struct addrinfo info; // first
    struct sockaddr_storage address;
    char name[];
};

static struct entry *new_entry(const struct sockaddr *address, socklen_t size, const char *name) {
    size_t room = name ? strlen(name) + 1 : 0;
    struct entry *e = size <= sizeof e->address ? calloc(1, sizeof *e + room) : NULL;
    if (!e)
        return NULL;
    e->info = (struct addrinfo){
        .ai_family = address->sa_family, .ai_addrlen = size, .ai_addr = (struct sockaddr *)&e->address};
    memcpy(&e->address, address, size);
    if (room > 1) {
        memcpy(e->name, name, room);
        e->info.ai_canonname = e->name;
    }
    return e;
}

static void set_port(struct entry *e, uint16_t port) {
    if (e->info.ai_family == AF_INET6)
        ((struct sockaddr_in6 *)&e->address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)&e->address)->sin_port = htons(port);
}

int fin_resolve_add_(const struct wanted *w, const struct sockaddr *address, socklen_t size, const char *name,
                     struct addrinfo ***end) {
    for (unsigned i = 0; i < w->count; i++) {
        struct entry *e = new_entry(address, size, i == 0 ? name : NULL);
        if (!e)
            return -ENOMEM;
        e->info.ai_socktype = w->kind[i].type;
        e->info.ai_protocol = w->kind[i].protocol;
        set_port(e, w->kind[i].port);
        **end = &e->info;
        *end = &e->info.ai_next;
    }
    return 0;
}

// The system's getaddrinfo asks nobody for a number, and knows them all: with a scope, too.
int fin_resolve_number_(const struct wanted *w, const char *host, struct addrinfo **out) {
    struct addrinfo number = {.ai_flags = AI_NUMERICHOST, .ai_family = w->family, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found, *list = NULL, **end = &list;
    int r = getaddrinfo(host, NULL, &number, &found);
    number.ai_family = AF_UNSPEC;
    bool other = r != 0 && w->family != AF_UNSPEC; // an IPv4 address may be written as one of IPv6
    if (other)
        r = getaddrinfo(host, NULL, &number, &found);
    if (r != 0)
        return r == EAI_MEMORY ? -ENOMEM : -ENOENT;
    if (other)
        r = -ENODATA;
    else
        r = fin_resolve_add_(w, found->ai_addr, found->ai_addrlen, w->named ? host : NULL, &end);
    freeaddrinfo(found);
    if (r == 0)
        *out = list;
    else
        fin_freeaddrinfo(list);
    return r;
}
