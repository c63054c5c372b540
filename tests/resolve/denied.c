// SPDX-License-Identifier: BSD-2-Clause
// Where a filter denies what a look-up needs it says which error that is, at once, and not that nobody answers; nor does it
// try for ever.
#include <poll.h>
#include <sys/resource.h>

#include "deny.h"
#include "dns.h"

static struct dns dns;
static unsigned error;

static void others_wait(void *name) { CHECK_EQ(resolve(name), -(int)error); }

// The server never answers that name; a look-up takes a minute then.
static void denied(unsigned call, bool later) {
    int r = 0;
    if (later) {
        use_server(&dns, 60000, 2);
        CHECK_EQ(resolve("localhost"), 0);
    }
    deny(call, error);
    if (!later)
        r = fin_resolve_configure(&(struct fin_resolve_config){dns.servers, 60000, 2});
    CHECK(r == 0 || r == -(int)error);
    if (r == 0)
        fin_finish {
            fin_async_eager_call(others_wait, "s.test.");
            fin_async_eager_call(others_wait, "sx.test.");
        }
}

static void in_child(unsigned call, bool later) {
    static const unsigned errors[] = {EPERM, ENOSYS};
    for (int i = 0; i < 2; i++) {
        error = errors[i];
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            setrlimit(RLIMIT_CPU, &(struct rlimit){20, 20});
            alarm(40);
            denied(call, later);
            _exit(0);
        }
        denied_ended(child);
    }
}

int main(void) {
    static const unsigned calls[] = {SYS_epoll_ctl, SYS_socket, SYS_connect, SYS_sendto};
    dns_open(&dns);
    in_child(SYS_epoll_create1, false);
    in_child(SYS_epoll_pwait, false);
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        in_child(calls[i], false);
        in_child(calls[i], true);
    }
    return 0;
}
