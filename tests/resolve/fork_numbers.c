// SPDX-License-Identifier: BSD-2-Clause
// In the child of a fork a look-up of its parent is cancelled, when the numbers of its sockets are other files' already:
// these stay open.
#include <fcntl.h>
#include <poll.h>

#include "dns.h"
#include "process.h"

enum { MOST = 64 };

static struct dns server;

// Is it connected with the server?
static bool is_socket_of_query(int fd) {
    struct sockaddr_in peer, self;
    socklen_t size = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0 || peer.sin_family != AF_INET)
        return false;
    size = sizeof self;
    CHECK_EQ(getsockname(server.udp, (struct sockaddr *)&self, &size), 0);
    return peer.sin_port == self.sin_port;
}

// How many there were, which `replaced` has.
static int in_child(bool replaced[MOST]) {
    int n = 0, null = open("/dev/null", O_RDWR);
    CHECK(null >= 0);
    for (int i = 0; i < MOST; i++)
        if (is_socket_of_query(i)) {
            replaced[i] = true;
            CHECK_EQ(dup2(null, i), i);
            n++;
        }
    return n;
}

static void answer_one(void) {
    struct dns_reply r = {.d = &server};
    socklen_t size = sizeof r.to;
    CHECK_EQ(fin_poll(server.udp, POLLIN), POLLIN);
    r.n = (int)recvfrom(server.udp, r.p, 512, 0, (struct sockaddr *)&r.to, &size);
    CHECK(r.n > 0);
    dns_reply(&r);
}

// One of them is reset while another is under way, and asks again, on a channel of its own.
static void get_under_way(void) {
    answer_one();
    answer_one();
    dns_serve_tcp(&server);
    fin_timeout(FIN_S) { // not every c-ares
        fin_poll(server.udp, POLLIN);
    }
}

int main(void) {
    static bool replaced[MOST];
    static int errors[2] = {1, 1};
    static pid_t child;
    if (ON_TSAN)
        SKIP("TSan is not for a child of several threads");
    dns_open(&server);
    use_server(&server, 100000, 1);
    fin_finish {
        fin_async { errors[0] = resolve("silent.test."); };
        fin_async { errors[1] = resolve("reset.test."); };
        get_under_way();
        child = fork();
        CHECK(child >= 0);
        if (child == 0)
            CHECK(in_child(replaced) > 0);
        fin_cancel();
    }
    CHECK_EQ(errors[0], -ECANCELED);
    CHECK(errors[1] < 0);
    if (child) {
        ended_well(child);
        return 0;
    }
    for (int i = 0; i < MOST; i++)
        CHECK(!replaced[i] || fcntl(i, F_GETFD) >= 0);
    execl("/bin/true", "true", NULL); // no search for leaks: what was its parent's is not given back
    _exit(1);
}
