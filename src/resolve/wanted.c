// SPDX-License-Identifier: BSD-2-Clause
#define _GNU_SOURCE
#include "resolve/wanted.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <fin/resolve.h>

// 0, or -ESRCH. libc would take 16 bits of any number.
static int check_port(const char *service) {
    char *end;
    unsigned long n = strtoul(service, &end, 10);
    return end != service && *end == '\0' && (*service == '-' || n > UINT16_MAX) ? -ESRCH : 0;
}

static bool is_port(const char *text) {
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && n > 0 && n <= UINT16_MAX;
}

static bool is_server(char *text) {
    unsigned char address[16];
    char *port = strrchr(text, ':');
    if (*text == '[') {
        if (!port || port[-1] != ']')
            return false;
        port[-1] = '\0';
        return inet_pton(AF_INET6, text + 1, address) == 1 && is_port(port + 1);
    }
    if (port && strchr(text, ':') != port)
        return inet_pton(AF_INET6, text, address) == 1;
    if (port)
        *port = '\0';
    return inet_pton(AF_INET, text, address) == 1 && (!port || is_port(port + 1));
}

bool fin_resolve_are_servers_(const char *servers) {
    for (const char *at = servers;; at++) {
        char text[64];
        size_t n = strcspn(at, ",");
        if (n >= sizeof text)
            return false;
        memcpy(text, at, n);
        text[n] = '\0';
        if (!is_server(text))
            return false;
        at += n;
        if (!*at)
            return true;
    }
}

static int error_of(int status) {
    switch (status) {
    case EAI_FAMILY:
        return -EAFNOSUPPORT;
    case EAI_SOCKTYPE:
    case EAI_BADFLAGS:
        return -EINVAL;
    case EAI_MEMORY:
        return -ENOMEM;
    default:
        return -ESRCH;
    }
}

static uint16_t port_of(const struct sockaddr *a) {
    return ntohs(a->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port
                                          : ((const struct sockaddr_in *)a)->sin_port);
}

// The system's getaddrinfo says what service and hints come to, for a number, which asks nobody.
int fin_resolve_wanted_(struct wanted *w, const char *service, const struct addrinfo *hints) {
    static const struct addrinfo none;
    const struct addrinfo *h = hints ? hints : &none;
    struct addrinfo *found, number = {.ai_flags = AI_NUMERICHOST | (h->ai_flags & AI_NUMERICSERV),
                                      .ai_family = h->ai_family,
                                      .ai_socktype = h->ai_socktype,
                                      .ai_protocol = h->ai_protocol};
    *w = (struct wanted){.family = h->ai_family, .flags = h->ai_flags, .named = h->ai_flags & AI_CANONNAME};
    if (w->family != AF_UNSPEC && w->family != AF_INET && w->family != AF_INET6)
        return -EAFNOSUPPORT;
    int r = service ? check_port(service) : 0;
    if (r == 0) {
        r = getaddrinfo(w->family == AF_INET6 ? "::1" : "127.0.0.1", service, &number, &found);
        r = r ? error_of(r) : 0;
    }
    if (r != 0)
        return r;
    for (const struct addrinfo *a = found; a && w->count < FIN_RESOLVE_KINDS; a = a->ai_next, w->count++) {
        w->kind[w->count].type = a->ai_socktype;
        w->kind[w->count].protocol = a->ai_protocol;
        w->kind[w->count].port = port_of(a->ai_addr);
    }
    freeaddrinfo(found);
    return 0;
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
