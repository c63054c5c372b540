// SPDX-License-Identifier: BSD-2-Clause
// As getaddrinfo(3): numbers in all their forms ask nobody, and are compared with its answers, for every hint; services by
// name, of each kind of socket; families that are none.
#define _GNU_SOURCE
#include <poll.h>

#include "dns.h"

static bool same(const struct addrinfo *a, const struct addrinfo *b) {
    for (; a && b; a = a->ai_next, b = b->ai_next)
        if (a->ai_family != b->ai_family || a->ai_socktype != b->ai_socktype || a->ai_protocol != b->ai_protocol ||
            a->ai_addrlen != b->ai_addrlen || memcmp(a->ai_addr, b->ai_addr, a->ai_addrlen) != 0)
            return false;
    return !a && !b;
}

static int error_of(int libc) {
    switch (libc) {
    case 0:
        return 0;
    case EAI_SERVICE:
        return -ESRCH;
    case EAI_FAMILY:
        return -EAFNOSUPPORT;
    case EAI_SOCKTYPE:
        return -EINVAL;
    case EAI_ADDRFAMILY:
        return -ENODATA;
    default:
        return 1;
    }
}

static void as_libc(const char *host, const char *service, const struct addrinfo *hints) {
    struct addrinfo *ours, *theirs;
    int theirs_r = getaddrinfo(host, service, hints, &theirs), r = fin_getaddrinfo(host, service, hints, &ours);
    bool good = r == error_of(theirs_r) && (r != 0 || same(ours, theirs));
    if (!good)
        fprintf(stderr, "%s %s family %d type %d protocol %d: %d, not %d (%s)\n", host, service ? service : "-",
                hints->ai_family, hints->ai_socktype, hints->ai_protocol, r, theirs_r, gai_strerror(theirs_r));
    CHECK(good);
    if (r == 0) {
        fin_freeaddrinfo(ours);
        freeaddrinfo(theirs);
    }
}

static void numbers(void) {
    static const char *const hosts[] = {"192.0.2.7", "127.1", "0x7f000001", "::1", "2001:db8::5", "fe80::1%lo", "::",
                                        "::ffff:192.0.2.1"};
    static const char *const services[] = {NULL, "", "80", " 80", "domain", "tftp", "http", "no-such-service"};
    static const int families[] = {AF_UNSPEC, AF_INET, AF_INET6};
    static const int types[] = {0, SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, 77};
    static const int protocols[] = {0, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP, IPPROTO_SCTP, 255};
    const bool few = getenv("FIN_FEW");
    for (size_t h = 0; h < sizeof hosts / sizeof *hosts; h++)
        for (size_t s = 0; s < sizeof services / sizeof *services; s++)
            for (size_t f = 0; f < 3; f++)
                for (size_t t = 0; t < 6; t++)
                    for (size_t p = 0; p < 6; p++) {
                        if (few && (h + s + f + t + p) % 5 > 0)
                            continue;
                        struct addrinfo hints = {
                            .ai_family = families[f], .ai_socktype = types[t], .ai_protocol = protocols[p]};
                        as_libc(hosts[h], services[s], &hints);
                    }
}

static void names(struct dns *server) {
    struct addrinfo *a, hints = {.ai_family = AF_INET};
    CHECK_EQ(fin_getaddrinfo("a.test.", "53", &hints, &a), 0);
    CHECK_EQ(count_of(a), 3); // a kind of socket each
    CHECK_EQ(ntohs(((struct sockaddr_in *)a->ai_next->ai_addr)->sin_port), 53);
    CHECK_EQ(a->ai_next->ai_socktype, SOCK_DGRAM);
    CHECK_EQ(a->ai_next->ai_protocol, IPPROTO_UDP);
    fin_freeaddrinfo(a);
    int asked = server->asked;
    hints.ai_family = AF_UNIX;
    CHECK_EQ(fin_getaddrinfo("a.test.", NULL, &hints, &a), -EAFNOSUPPORT);
    hints = (struct addrinfo){.ai_flags = AI_NUMERICSERV};
    CHECK_EQ(fin_getaddrinfo("a.test.", "http", &hints, &a), -ESRCH);
    hints = (struct addrinfo){.ai_flags = AI_CANONNAME};
    CHECK_EQ(fin_getaddrinfo("192.0.2.7", NULL, &hints, &a), 0);
    CHECK(strcmp(a->ai_canonname, "192.0.2.7") == 0);
    CHECK(!a->ai_next->ai_canonname);
    fin_freeaddrinfo(a);
    CHECK_EQ(fin_getaddrinfo("fe80::1%no-such", NULL, NULL, &a), -EINVAL);
    CHECK_EQ(fin_getaddrinfo("2001:db8::1::2", NULL, NULL, &a), -EINVAL);
    CHECK_EQ(fin_getaddrinfo("a.test:80", NULL, NULL, &a), -EINVAL);
    CHECK_EQ(server->asked, asked);
}

int main(void) {
    static struct dns server;
    dns_open(&server);
    fin_finish {
        fin_async_call(dns_serve, &server);
        use_server(&server, 2000, 2);
        numbers();
        CHECK_EQ(server.asked, 0);
        names(&server);
        fin_cancel();
    }
    return 0;
}
