// SPDX-License-Identifier: BSD-2-Clause
#include "resolve/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <fin/resolve.h>

int fin_resolve_error_(int status) {
    static const struct {
        int status, error;
    } known[] = {
        {ARES_SUCCESS, 0},
        {ARES_ENOTFOUND, -ENOENT},
        {ARES_ENODATA, -ENODATA},
        {ARES_ETIMEOUT, -ETIMEDOUT},
        {ARES_ECONNREFUSED, -ECONNREFUSED},
        {ARES_ESERVFAIL, -EREMOTEIO},
        {ARES_EREFUSED, -EREMOTEIO},
        {ARES_ENOTIMP, -EREMOTEIO},
        {ARES_EFORMERR, -EREMOTEIO},
        {ARES_EBADNAME, -EINVAL},
        {ARES_EBADSTR, -EINVAL},
        {ARES_EBADFLAGS, -EINVAL},
        {ARES_EBADHINTS, -EINVAL},
        {ARES_ENONAME, -EINVAL},
        {ARES_EBADFAMILY, -EAFNOSUPPORT},
        {ARES_ESERVICE, -ESRCH},
        {ARES_ENOMEM, -ENOMEM},
        {ARES_ECANCELLED, -ECANCELED},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].status == status)
            return known[i].error;
    return -EPROTO;
}

int fin_resolve_flags_(int flags) {
    return (flags & AI_CANONNAME ? ARES_AI_CANONNAME : 0) | (flags & AI_NUMERICHOST ? ARES_AI_NUMERICHOST : 0) |
           (flags & AI_NUMERICSERV ? ARES_AI_NUMERICSERV : 0) | (flags & AI_PASSIVE ? ARES_AI_PASSIVE : 0);
}

struct entry {
    struct addrinfo info; // first
    struct sockaddr_storage address;
    char name[];
};

static const char *canonical_name(const struct ares_addrinfo *found) {
    const struct ares_addrinfo_cname *c = found->cnames;
    while (c && c->next)
        c = c->next;
    return c && c->name ? c->name : found->name ? found->name : "";
}

int fin_resolve_answer_(const struct ares_addrinfo *found, bool named, struct addrinfo **out) {
    const char *name = canonical_name(found);
    struct addrinfo *first = NULL, **end = &first;
    for (const struct ares_addrinfo_node *n = found->nodes; n; n = n->ai_next) {
        size_t room = named && n == found->nodes ? strlen(name) + 1 : 0;
        struct entry *e = n->ai_addrlen <= sizeof e->address ? calloc(1, sizeof *e + room) : NULL;
        if (!e) {
            fin_freeaddrinfo(first);
            return -ENOMEM;
        }
        e->info = (struct addrinfo){.ai_family = n->ai_family,
                                    .ai_socktype = n->ai_socktype,
                                    .ai_protocol = n->ai_protocol,
                                    .ai_addrlen = n->ai_addrlen,
                                    .ai_addr = (struct sockaddr *)&e->address};
        memcpy(&e->address, n->ai_addr, n->ai_addrlen);
        memcpy(e->name, name, room);
        if (room > 1)
            e->info.ai_canonname = e->name;
        *end = &e->info;
        end = &e->info.ai_next;
    }
    *out = first;
    return first ? 0 : -ENODATA;
}

void fin_freeaddrinfo(struct addrinfo *list) {
    while (list) {
        struct addrinfo *next = list->ai_next;
        free(list);
        list = next;
    }
}
