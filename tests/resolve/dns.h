// SPDX-License-Identifier: BSD-2-Clause
// A name server on the loopback address, by UDP and TCP. What it does follows from the first letter of the name:
//   a  192.0.2.<number of labels>   b  both families   n  NXDOMAIN   f  SERVFAIL   t  truncated by UDP, 40 addresses by TCP
//   l  answers 20 ms later   s  never answers   g  garbage   r  truncated by UDP, the connection reset by TCP
// Of this machine, 127.0.0.1 and ::1:
//   h  both   k  IPv4 only   i  never answers what its IPv6 address is   j  ... its IPv4 address
//   m  answers 20 ms later what its IPv6 address is
#ifndef FIN_TESTS_RESOLVE_DNS_H
#define FIN_TESTS_RESOLVE_DNS_H

#include <stdio.h>

#include <fin/resolve.h>

#include "net.h"

struct dns {
    int udp, tcp;
    char servers[64];
    int asked, ended; // queries by UDP; by TCP the number of connections
};

enum { DNS_A = 1, DNS_AAAA = 28, DNS_MOST = 2048 };

static inline void dns_open(struct dns *d) {
    struct sockaddr_in address;
    d->udp = socket(AF_INET, SOCK_DGRAM, 0);
    d->tcp = tcp_listen(&address, 8);
    while (bind(d->udp, (struct sockaddr *)&address, sizeof address) != 0) { // somebody else's, by UDP
        CHECK_EQ(errno, EADDRINUSE);
        int next = tcp_listen(&address, 8);
        close(d->tcp);
        d->tcp = next;
    }
    snprintf(d->servers, sizeof d->servers, "127.0.0.1:%d", ntohs(address.sin_port));
    d->asked = d->ended = 0;
}

static inline int dns_put(unsigned char *p, const char *bytes, int n) {
    memcpy(p, bytes, (size_t)n);
    return n;
}

static inline int dns_type(const unsigned char *p, int n) {
    int at = 12;
    while (at < n && p[at])
        at += p[at] + 1;
    return p[at + 1] << 8 | p[at + 2];
}

// Turns the query in p, of n bytes, into its answer; returns the length, 0 for none.
static inline int dns_answer(unsigned char *p, int n, bool tcp) {
    int at = 12, labels = 0, count = 0;
    if (n < 17)
        return 0;
    char what = (char)p[13];
    while (at < n && p[at]) {
        at += p[at] + 1;
        labels++;
    }
    int type = p[at + 1] << 8 | p[at + 2];
    at += 5;
    if (what == 's' || (what == 'i' && type == DNS_AAAA) || (what == 'j' && type == DNS_A))
        return 0;
    p[2] = 0x81 | (strchr("tr", what) && !tcp ? 2 : 0);
    p[3] = (unsigned char)(0x80 | (what == 'n' ? 3 : what == 'f' ? 2 : 0));
    memset(p + 6, 0, 6);
    if (what == 'g') {
        p[7] = 9; // answers that are not there
        return at;
    }
    bool here = strchr("hijkm", what), v4 = type == DNS_A && (here || strchr("abtl", what));
    bool v6 = type == DNS_AAAA && strchr("bhijm", what);
    for (int i = 0; i < (what == 't' ? tcp ? 40 : 0 : 1) && (v4 || v6); i++, count++) {
        at +=
            dns_put(p + at, v4 ? "\xc0\x0c\0\1\0\1\0\0\0\1\0\4\xc0\0\2" : "\xc0\x0c\0\x1c\0\1\0\0\0\1\0\x10", v4 ? 15 : 12);
        if (v4 && here)
            dns_put(p + at - 3, "\x7f\0\0", 3);
        if (v4)
            p[at++] = (unsigned char)(what == 't' ? i : here ? 1 : labels);
        else
            at += dns_put(p + at, here ? "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1" : "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1", 16);
    }
    p[7] = (unsigned char)count;
    return at;
}

static inline void dns_serve_tcp(struct dns *d) {
    int fd = fin_accept(d->tcp, NULL, NULL);
    if (fd < 0)
        return;
    unsigned char p[DNS_MOST];
    while (fin_recv(fd, p, 2, MSG_WAITALL) == 2) {
        int n = p[0] << 8 | p[1];
        CHECK(n < 600);
        CHECK_EQ(fin_recv(fd, p + 2, (size_t)n, MSG_WAITALL), n);
        if (p[2 + 13] == 'r') {
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
            break;
        }
        n = dns_answer(p + 2, n, true);
        p[0] = (unsigned char)(n >> 8);
        p[1] = (unsigned char)n;
        fin_send(fd, p, (size_t)n + 2, 0);
    }
    d->ended++;
    close(fd);
}

struct dns_reply {
    struct dns *d;
    struct sockaddr_in to;
    int n;
    unsigned char p[DNS_MOST];
};

static inline void dns_reply(void *reply) {
    struct dns_reply r = *(struct dns_reply *)reply;
    bool late = r.p[13] == 'l' || (r.p[13] == 'm' && dns_type(r.p, r.n) == DNS_AAAA);
    if (late && fin_sleep(20 * FIN_MS) != 0)
        return;
    r.n = dns_answer(r.p, r.n, false);
    if (r.n)
        sendto(r.d->udp, r.p, (size_t)r.n, 0, (struct sockaddr *)&r.to, sizeof r.to);
}

static inline void dns_serve_udp(struct dns *d) {
    fin_finish {
        while (fin_poll(d->udp, POLLIN) > 0) {
            struct dns_reply r = {.d = d};
            socklen_t size = sizeof r.to;
            r.n = (int)recvfrom(d->udp, r.p, 512, MSG_DONTWAIT, (struct sockaddr *)&r.to, &size);
            if (r.n > 0) {
                __atomic_fetch_add(&d->asked, 1, __ATOMIC_RELAXED); // other threads look
                fin_async_call(dns_reply, &r);
            }
        }
    }
}

// Until cancelled.
static inline void dns_serve(void *dns) {
    struct dns *d = dns;
    fin_finish {
        fin_async {
            while (!fin_cancelled())
                dns_serve_tcp(d);
        };
        dns_serve_udp(d);
    }
    close(d->udp);
    close(d->tcp);
}

static inline void use_server(const struct dns *d, unsigned timeout_ms, unsigned tries) {
    CHECK_EQ(fin_resolve_configure(&(struct fin_resolve_config){d->servers, timeout_ms, tries}), 0);
}

static inline int count_of(const struct addrinfo *a) {
    int n = 0;
    for (; a; a = a->ai_next)
        n++;
    return n;
}

static const struct addrinfo v4 = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};

static inline int resolve(const char *name) {
    struct addrinfo *a = NULL;
    int r = fin_getaddrinfo(name, NULL, &v4, &a);
    fin_freeaddrinfo(a);
    return r;
}

#endif
