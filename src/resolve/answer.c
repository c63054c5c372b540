// SPDX-License-Identifier: BSD-2-Clause
#include "resolve/answer.h"

#include <errno.h>
#include <stdlib.h>

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

static const char *canonical_name(const struct ares_addrinfo *found) {
    const struct ares_addrinfo_cname *c = found->cnames;
    while (c && c->next)
        c = c->next;
    return c && c->name ? c->name : found->name ? found->name : "";
}

int fin_resolve_answer_(const struct ares_addrinfo *found, const struct wanted *w, struct addrinfo **out) {
    const char *name = w->named ? canonical_name(found) : NULL;
    struct addrinfo *list = NULL, **end = &list;
    int error = found->nodes ? 0 : -ENODATA;
    for (const struct ares_addrinfo_node *n = found->nodes; n && error == 0; n = n->ai_next, name = NULL)
        error = fin_resolve_add_(w, n->ai_addr, n->ai_addrlen, name, &end);
    if (error == 0)
        *out = list;
    else
        fin_freeaddrinfo(list);
    return error;
}

void fin_freeaddrinfo(struct addrinfo *list) {
    while (list) {
        struct addrinfo *next = list->ai_next;
        free(list);
        list = next;
    }
}
