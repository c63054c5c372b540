// SPDX-License-Identifier: BSD-2-Clause
// From a name to a connection: whatever one family lacks, addresses, an answer or somebody who listens, the other has it.
// What is said where neither does; and races of cancel against all of it, after which no descriptor is left.
#include <fcntl.h>
#include <poll.h>

#include "dns.h"

static struct dns server;
static int listeners[2], unused; // IPv6, IPv4: at one port
static char port[8];
static bool has_ipv6;

static int listen_at(int family, int number) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 b = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)number),
                             .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    bool is_6 = family == AF_INET6;
    if (bind(fd, is_6 ? (struct sockaddr *)&b : (struct sockaddr *)&a, is_6 ? sizeof b : sizeof a) != 0 ||
        listen(fd, 100) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void listen_both(void) {
    struct sockaddr_in a;
    do {
        int first = tcp_listen(&a, 0);
        close(first);
        listeners[1] = listen_at(AF_INET, ntohs(a.sin_port));
        listeners[0] = listen_at(AF_INET6, ntohs(a.sin_port));
        has_ipv6 = listeners[0] >= 0;
        if (!has_ipv6 && errno == EADDRINUSE && listeners[1] >= 0) {
            close(listeners[1]);
            listeners[1] = -1;
        }
    } while (listeners[1] < 0);
    snprintf(port, sizeof port, "%d", ntohs(a.sin_port));
}

static void stop(int which) {
    if (listeners[which] >= 0)
        close(listeners[which]);
    listeners[which] = -1;
}

// How many connections have come, which are closed, and how many bytes by them.
static int came(int listener, int *bytes) {
    char c;
    int n = 0;
    for (int fd; listener >= 0 && (fd = accept(listener, NULL, NULL)) >= 0; n++) {
        while (recv(fd, &c, 1, 0) > 0)
            ++*bytes;
        close(fd);
    }
    return n;
}

static FIN_BLOCKING void connects(const char *host, bool by_ipv6) {
    struct sockaddr_storage a;
    socklen_t size = sizeof a;
    int fd = fin_connect_host(host, port);
    CHECK(fd >= 0);
    CHECK_EQ(getpeername(fd, (struct sockaddr *)&a, &size), 0);
    CHECK_EQ(a.ss_family, by_ipv6 ? AF_INET6 : AF_INET);
    CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
    int first = came(listeners[0], &unused), second = came(listeners[1], &unused);
    CHECK(by_ipv6 ? first == 1 : second == 1);
}

// No try of a name server that does not answer is over by the time.
static FIN_BLOCKING void soon(const char *host, bool by_ipv6) {
    uint64_t begin = fin_now();
    connects(host, by_ipv6);
    CHECK(fin_now() - begin < 9 * FIN_S);
}

static FIN_BLOCKING void either_family(void) {
    connects("127.0.0.1", false);
    connects("k.test", false);
    soon("i.test", false);
    if (has_ipv6) {
        connects("::1", true);
        connects("h.test", true);
        connects("m.test", true);
        soon("j.test", true);
    }
    stop(0); // so it is refused, or there is none
    connects("h.test", false);
    connects("m.test", false);
}

static FIN_BLOCKING void neither(void) {
    stop(1);
    CHECK_EQ(fin_connect_host("h.test", port), -ECONNREFUSED);
    CHECK_EQ(fin_connect_host("k.test", port), -ECONNREFUSED);
    CHECK_EQ(fin_connect_host("127.0.0.1", port), -ECONNREFUSED);
    CHECK_EQ(fin_connect_host("::1", port), has_ipv6 ? -ECONNREFUSED : -EADDRNOTAVAIL);
    CHECK_EQ(fin_connect_host("n.test", port), -ENOENT);
    CHECK_EQ(fin_connect_host("x.test", port), -ENODATA);
    CHECK_EQ(fin_connect_host("h.test", "no such service"), -ESRCH);
    CHECK_EQ(fin_connect_host("", port), -EINVAL);
    CHECK_EQ(fin_connect_host(NULL, port), -EINVAL);
}

static FIN_BLOCKING void cancelled(void) {
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_connect_host("h.test", port), -ECANCELED);
        CHECK_EQ(came(listeners[0], &unused) + came(listeners[1], &unused), 0);
        int fd = fin_connect_host_nc("h.test", port);
        CHECK(fd >= 0);
        close(fd);
    }
    fin_timeout(10 * FIN_MS) {
        CHECK_EQ(fin_connect_host("s.test", port), -ECANCELED);
    }
    came(listeners[0], &unused);
    came(listeners[1], &unused);
}

static FIN_BLOCKING void races(void) {
    static const char *const hosts[] = {"h.test", "k.test", "l.test", "m.test", "127.0.0.1", "i.test", "j.test"};
    unsigned seed = 3;
    int rounds = getenv("FIN_FEW") ? 100 : 1000, won = 0, lost = 0;
    for (int i = 0; i < rounds; i++) {
        fin_shared int fd = -1;
        int bytes = 0;
        fin_timeout(next_random(&seed) % (next_random(&seed) % 4 ? 1000 * FIN_US : 30 * FIN_MS)) {
            fd = fin_connect_host(hosts[next_random(&seed) % 7], port);
        }
        CHECK(fd >= 0 || fd == -ECANCELED);
        if (fd >= 0) {
            CHECK_EQ(send(fd, "x", 1, 0), 1);
            close(fd);
        }
        came(listeners[0], &bytes);
        came(listeners[1], &bytes);
        CHECK_EQ(bytes, fd >= 0);
        ++*(fd >= 0 ? &won : &lost);
    }
    CHECK(won > 0 && lost > 0);
}

int main(void) {
    dns_open(&server);
    use_server(&server, 10000, 1);
    fin_finish {
        fin_async_call(dns_serve, &server);
        listen_both();
        CHECK_EQ(resolve("a.test"), 0); // the thread has what it asks with
        int before = open_descriptors();
        cancelled();
        races();
        until_open_descriptors(before);
        either_family();
        neither();
        use_server(&server, 50, 1);
        CHECK_EQ(fin_connect_host("i.test", port), -ECONNREFUSED); // it got further than the one that nobody answers
        CHECK_EQ(fin_connect_host("s.test", port), -ETIMEDOUT);
        fin_cancel();
    }
    return 0;
}
