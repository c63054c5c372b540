// SPDX-License-Identifier: BSD-2-Clause
// A chain is cancelled before it comes to a connect: that was not begun, and its socket is as it was.
#include <fin/linked.h>

#include "net.h"

static int bound(struct sockaddr_in *name) {
    socklen_t size = sizeof *name;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    *name = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK_EQ(bind(fd, (struct sockaddr *)name, size), 0);
    CHECK_EQ(getsockname(fd, (struct sockaddr *)name, &size), 0);
    return fd;
}

int main(void) {
    struct sockaddr_in first, second, name;
    socklen_t size = sizeof name;
    char c;
    int ends[2], a = bound(&first), b = bound(&second), fd = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&first, sizeof first), 0);
    struct fin_step s[] = {fin_step_read(ends[0], &c, 1), fin_step_connect(fd, (struct sockaddr *)&second, sizeof second)};
    fin_timeout(20 * FIN_MS) {
        CHECK_EQ(fin_linked(s, 2), -ECANCELED);
    }
    CHECK_EQ(s[0].result, -ECANCELED);
    CHECK_EQ(s[1].result, -ECANCELED);
    CHECK_EQ(getpeername(fd, (struct sockaddr *)&name, &size), 0);
    CHECK_EQ(name.sin_port, first.sin_port);
    close(a);
    close(b);
    close(fd);
    return 0;
}
