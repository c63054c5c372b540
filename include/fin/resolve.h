// SPDX-License-Identifier: BSD-2-Clause
// Names to addresses, through c-ares: a library of its own, libfin-resolve, so that libfin needs no c-ares.
#ifndef FIN_RESOLVE_H
#define FIN_RESOLVE_H

#include <fin/finish.h>

#include <netdb.h>

#if defined(__STRICT_ANSI__) && !defined(__cplusplus) && !defined(_POSIX_C_SOURCE) && !defined(_GNU_SOURCE)
#error "addrinfo is not C11's own: compile with -std=gnu11 (CMake: C_EXTENSIONS ON), or define _POSIX_C_SOURCE as 200809L"
struct addrinfo; // no more errors than that
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Looks up a name as getaddrinfo(3) does: /etc/hosts first, then the servers of /etc/resolv.conf, read at the thread's
// first call. A number, in any form that getaddrinfo(3) knows and with a scope, asks nobody. `service` is NULL, a number,
// or a name, which libc looks up, in /etc/services unless nsswitch.conf(5) says otherwise: for that the whole thread
// waits. Of `hints` (NULL: none) ai_family, ai_socktype, ai_protocol and of ai_flags AI_CANONNAME, AI_NUMERICHOST and
// AI_NUMERICSERV count. Where they leave the kind of socket open, each address comes once for each kind. All look-ups of
// a thread share its sockets. The child of a fork begins with /etc/resolv.conf again; there, look-ups that AWEs of the
// parent were waiting in end only by being cancelled.
//
// Returns 0 and the addresses, best first, for fin_freeaddrinfo. Or -ECANCELED: the look-up has no effect any more; -ENOENT:
// there is no such name; -ENODATA: it has no such address; -ETIMEDOUT: no server answered; -ECONNREFUSED or -EREMOTEIO: no
// server could be reached, or those that could said that they failed; -EPROTO: one sent nonsense; -EINVAL: `host` is NULL or
// no name, or `hints` are contradictory; -ESRCH: no such service; -EAFNOSUPPORT: a family that is neither IPv4 nor IPv6;
// -ENOMEM, -EMFILE, -ENFILE, -ENOSPC (epoll_ctl(2)); -EPERM, -EACCES, -ENOSYS: the system denies what it takes to ask.
// Blocking. From any thread.
FIN_BLOCKING int fin_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **out);
FIN_BLOCKING int fin_getaddrinfo_nc(const char *host, const char *service, const struct addrinfo *hints,
                                    struct addrinfo **out);
void fin_freeaddrinfo(struct addrinfo *list);

// Connects to a host by TCP: looks its IPv6 and IPv4 addresses up, both at once, and connects to the one that answers first,
// as fin_connect_any (fin/socket.h) does; IPv6 begins, unless IPv4 addresses have been known for 50 ms before any of it, and
// IPv4 250 ms later, or when IPv6 has failed. A name server that does not say anything about one family holds up only that.
// `host` and `service` as of fin_getaddrinfo. Returns the socket, which is the caller's to close (SOCK_CLOEXEC); or a
// negative errno, and there is none: one of fin_getaddrinfo's, or fin_connect_any's, of the family that got further, IPv6
// first. What was won while it was cancelled is returned. Blocking. From any thread.
FIN_BLOCKING int fin_connect_host(const char *host, const char *service);
FIN_BLOCKING int fin_connect_host_nc(const char *host, const char *service);

// What the calling thread's look-ups use from here on, in place of what /etc/resolv.conf says; a field that is 0 or NULL
// stays as it is there.
struct fin_resolve_config {
    const char *servers; // "192.0.2.1:53,[2001:db8::1]:53"; without a port: "192.0.2.1,2001:db8::1"; none with a scope
    unsigned timeout_ms; // for the first try of a server; longer for further ones. More than INT_MAX counts as INT_MAX
    unsigned tries;      // of each server; more than 30 count as 30
};

// Configures the look-ups. Returns 0; -EBUSY while a look-up of the calling thread is in progress; -EINVAL if `servers` is
// not as above; -ENOMEM, -EMFILE, -ENFILE. After an error they go on as before. With NULL: reads /etc/resolv.conf anew. Does
// not block.
int fin_resolve_configure(const struct fin_resolve_config *config);

#ifdef __cplusplus
}
#endif
#endif
