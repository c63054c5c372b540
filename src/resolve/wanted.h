// SPDX-License-Identifier: BSD-2-Clause
// What the caller of fin_getaddrinfo wants: for each address, which kinds of socket and which port; and addresses that are
// numbers, which ask nobody. c-ares knows one kind of socket, looks services up for TCP only, and asks servers for numbers
// of the other family and for those with a scope.
#ifndef FIN_RESOLVE_WANTED_H
#define FIN_RESOLVE_WANTED_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

enum { FIN_RESOLVE_KINDS = 8 }; // more than libc knows at once

struct wanted {
    int family, flags;
    bool named; // the canonical name, too
    unsigned count;
    struct {
        int type, protocol;
        uint16_t port;
    } kind[FIN_RESOLVE_KINDS];
};

// 0; -EAFNOSUPPORT; -EINVAL where `hints` are contradictory; -ESRCH: no kind of socket has the service.
int fin_resolve_wanted_(struct wanted *w, const char *service, const struct addrinfo *hints);

// Whether they are "ADDRESS", "V4:PORT" or "[V6]:PORT", with commas between them. c-ares takes the beginning of what it does
// not understand, and 16 bits of any port.
bool fin_resolve_are_servers_(const char *servers);

// A number's addresses: 0; -ENODATA where it is of the other family; -ENOENT: it is none; -ENOMEM.
int fin_resolve_number_(const struct wanted *w, const char *host, struct addrinfo **out);

// Puts an address at the end of a list, once for each kind wanted. 0 or -ENOMEM.
int fin_resolve_add_(const struct wanted *w, const struct sockaddr *address, socklen_t size, const char *name,
                     struct addrinfo ***end);

#endif
