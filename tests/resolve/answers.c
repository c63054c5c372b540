// SPDX-License-Identifier: BSD-2-Clause
// What comes of names: numbers and /etc/hosts without a server; addresses of one and both families; no such name; no such
// address; failure; garbage; an answer that needs TCP; many at once over one socket.
#include <poll.h>

#include "dns.h"

enum { MANY = 200 };

static struct dns server;
static const struct addrinfo any = {.ai_socktype = SOCK_STREAM};

static void is_v4(const struct addrinfo *a, const char *address, int port) {
    char text[64];
    const struct sockaddr_in *in = (const struct sockaddr_in *)a->ai_addr;
    CHECK_EQ(a->ai_family, AF_INET);
    CHECK_EQ(a->ai_socktype, SOCK_STREAM);
    CHECK(strcmp(inet_ntop(AF_INET, &in->sin_addr, text, sizeof text), address) == 0);
    CHECK_EQ(ntohs(in->sin_port), port);
}

static int configure(const char *servers) {
    return fin_resolve_configure(&(struct fin_resolve_config){.servers = servers});
}

static void no_servers(void) {
    static const char *const none[] = {
        "",       "not a server", ",",   "127.0.0.1,",   ",127.0.0.1",    "127.0.0.1:99999", "127.0.0.1:65589",
        ":53",    "127.0.0.1:0",  "[::1", "127.0.0.1:-1", "127.0.0.1:53x", "127.0.0.1:",      "127.0.0.1]:53",
        "]:53",   "[::1]:65536",  "[]:53", "[::1]53",     "::1]:53",       "1.2.3",           "[127.0.0.1]:53"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CHECK_EQ(configure(none[i]), -EINVAL);
    CHECK_EQ(configure("127.0.0.1,127.0.0.2:65535,::1,[2001:db8::1]:53"), 0);
}

static void without_a_server(void) {
    struct addrinfo *a;
    CHECK_EQ(fin_getaddrinfo("192.0.2.77", "443", &v4, &a), 0);
    is_v4(a, "192.0.2.77", 443);
    CHECK_EQ(count_of(a), 1);
    fin_freeaddrinfo(a);
    CHECK_EQ(fin_getaddrinfo("2001:db8::5", NULL, &any, &a), 0);
    CHECK_EQ(a->ai_family, AF_INET6);
    fin_freeaddrinfo(a);
    CHECK_EQ(fin_getaddrinfo("localhost", "80", &v4, &a), 0);
    is_v4(a, "127.0.0.1", 80);
    fin_freeaddrinfo(a);
    struct addrinfo number = v4;
    number.ai_flags = AI_NUMERICHOST;
    CHECK_EQ(fin_getaddrinfo("a.test", NULL, &number, &a), -EINVAL);
    CHECK_EQ(fin_getaddrinfo(NULL, "80", &v4, &a), -EINVAL);
    CHECK_EQ(fin_getaddrinfo("", "80", &v4, &a), -EINVAL);
    static const char *const no_services[] = {"99999", "-1", "0x50", "80x", "18446744073709551696", "no-such-service"};
    for (size_t i = 0; i < sizeof no_services / sizeof *no_services; i++)
        CHECK_EQ(fin_getaddrinfo("192.0.2.77", no_services[i], &v4, &a), -ESRCH);
    CHECK_EQ(fin_getaddrinfo("192.0.2.77", "010", &v4, &a), 0);
    is_v4(a, "192.0.2.77", 10);
    fin_freeaddrinfo(a);
    CHECK_EQ(server.asked, 0);
}

static void with_a_server(void) {
    struct addrinfo *a, canonical = v4;
    CHECK_EQ(fin_getaddrinfo("a.two.test", "80", &v4, &a), 0);
    is_v4(a, "192.0.2.3", 80);
    CHECK(!a->ai_canonname);
    fin_freeaddrinfo(a);
    canonical.ai_flags = AI_CANONNAME;
    CHECK_EQ(fin_getaddrinfo_nc("a.test", NULL, &canonical, &a), 0);
    fin_freeaddrinfo(a);
    CHECK_EQ(fin_getaddrinfo("b.test", "80", &any, &a), 0);
    CHECK_EQ(count_of(a), 2);
    fin_freeaddrinfo(a);
    CHECK_EQ(fin_getaddrinfo("nothing.test.", NULL, &any, &a), -ENOENT);
    struct addrinfo v6 = {.ai_family = AF_INET6};
    CHECK_EQ(fin_getaddrinfo("a.test.", NULL, &v6, &a), -ENODATA);
    int failed = fin_getaddrinfo("fails.test.", NULL, &v4, &a); // which of them depends on the version of c-ares
    CHECK(failed == -EREMOTEIO || failed == -ECONNREFUSED);
    CHECK(fin_getaddrinfo("garbage.test.", NULL, &v4, &a) < 0);
    CHECK_EQ(fin_getaddrinfo("truncated.test.", "80", &v4, &a), 0);
    CHECK_EQ(count_of(a), 40);
    fin_freeaddrinfo(a);
}

static void many(void) {
    static int found;
    fin_finish {
        for (int i = 0; i < MANY; i++) {
            fin_async {
                struct addrinfo *a;
                int number = i;
                char name[32];
                snprintf(name, sizeof name, "%s%d%s.test", number % 2 ? "a" : "l", number, number % 3 ? "" : ".x");
                CHECK_EQ(fin_getaddrinfo(name, "1", &v4, &a), 0);
                is_v4(a, number % 3 ? "192.0.2.2" : "192.0.2.3", 1);
                fin_freeaddrinfo(a);
                found++;
            };
        }
    }
    CHECK_EQ(found, MANY);
}

int main(void) {
    dns_open(&server);
    fin_finish {
        fin_async_call(dns_serve, &server);
        no_servers();
        use_server(&server, 2000, 2);
        without_a_server();
        with_a_server();
        many();
        fin_cancel();
    }
    return 0;
}
