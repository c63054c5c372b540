// SPDX-License-Identifier: BSD-2-Clause
// TCP: hundreds of clients and their servers in one thread, each sending lines and comparing the echo.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

enum { ROUNDS = 20 };

static struct sockaddr_in address;
static int listener, served;

static void send_all(int fd, const char *p, ssize_t n) {
    while (n > 0) {
        ssize_t k = fin_send(fd, p, (size_t)n, 0);
        CHECK(k > 0);
        p += k;
        n -= k;
    }
}

static void serve(void *arg) {
    int fd = *(int *)arg;
    char buffer[256];
    ssize_t n;
    while ((n = fin_recv(fd, buffer, sizeof buffer, 0)) > 0)
        send_all(fd, buffer, n);
    CHECK_EQ(n, 0);
    CHECK_EQ(fin_close(fd), 0);
    served++;
}

static void serve_next(void *unused) {
    (void)unused;
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    int fd = fin_accept(listener, (struct sockaddr *)&peer, &size);
    CHECK(fd >= 0);
    CHECK_EQ(size, sizeof peer);
    CHECK_EQ(peer.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    serve(&fd);
}

static void be_client(void *unused) {
    (void)unused;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0);
    CHECK_EQ(fin_connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    for (int i = 0; i < ROUNDS; i++) {
        char line[200], back[200];
        int n = snprintf(line, sizeof line, "%d says %*d", fd, i * 8 % 170 + 1, i);
        send_all(fd, line, n);
        for (int got = 0; got < n;) {
            ssize_t k = fin_recv(fd, back + got, (size_t)(n - got), 0);
            CHECK(k > 0);
            got += (int)k;
        }
        CHECK(memcmp(line, back, (size_t)n) == 0);
    }
    CHECK_EQ(fin_close(fd), 0);
}

int main(void) {
    const int clients = getenv("FIN_FEW") ? 40 : 300;
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_EQ(listen(listener, 128), 0);
    CHECK_EQ(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    fin_finish {
        for (int i = 0; i < clients; i++) {
            fin_async_call(serve_next, NULL);
            fin_async_call(be_client, NULL);
        }
    }
    CHECK_EQ(served, clients);
    CHECK_EQ(fin_close(listener), 0);
    return 0;
}
