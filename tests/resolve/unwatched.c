// SPDX-License-Identifier: BSD-2-Clause
// A look-up whose socket cannot be watched, and that has ended all the same, leaves the next one alone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <sys/epoll.h>

#include "dns.h"

static bool fails;
static int failed;

// In the place of libc's, for the library and for c-ares.
int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event) {
    static int (*real)(int, int, int, struct epoll_event *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "epoll_ctl");
    if (!fails || op == EPOLL_CTL_DEL)
        return real(epoll, op, fd, event);
    failed++;
    errno = op == EPOLL_CTL_MOD ? ENOENT : ENOSPC;
    return -1;
}

ssize_t send(int fd, const void *data, size_t size, int flags) {
    if (!fails)
        return sendto(fd, data, size, flags, NULL, 0);
    errno = ENETUNREACH;
    return -1;
}

int main(void) {
    static struct dns server;
    dns_open(&server);
    fin_finish {
        fin_async_call(dns_serve, &server);
        use_server(&server, 2000, 2);
        CHECK_EQ(resolve("a.test."), 0);
        fails = true;
        CHECK_EQ(resolve("a.test."), -ECONNREFUSED);
        fails = false;
        if (failed == 0)
            SKIP("the calls of c-ares are not to be seen here");
        CHECK_EQ(resolve("a.test."), 0);
        CHECK_EQ(resolve("a.b.test."), 0);
        fin_cancel();
    }
    return 0;
}
