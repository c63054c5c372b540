// SPDX-License-Identifier: BSD-2-Clause
// The system has no memory for what a channel between processes waits with, or the user has as many descriptors in epolls as
// he may: the wait says so, and is no more than over. The other side is still there, and the next message comes.
#include "chan.h"
#include "chan/chan.h"

#include <sys/epoll.h>
#include <sys/syscall.h>

static int error;

static bool fails(void) {
    errno = error;
    return error != 0 && error != ENOSPC;
}

// The library's calls come here.
ssize_t recv(int fd, void *p, size_t n, int flags) {
    return fails() ? -1 : syscall(SYS_recvfrom, fd, p, n, flags, NULL, NULL);
}
ssize_t recvmsg(int fd, struct msghdr *m, int flags) { return fails() ? -1 : syscall(SYS_recvmsg, fd, m, flags); }

int epoll_ctl(int epoll, int op, int fd, struct epoll_event *e) {
    errno = error;
    return error == ENOSPC ? -1 : (int)syscall(SYS_epoll_ctl, epoll, op, fd, e);
}

static char text[64];
static int result;
static struct fin_chan_on on;

static void has(void *state, int n) {
    (void)state;
    result = n;
    fin_cont_end();
}

static void send_it(void *state, int r) {
    (void)r;
    has(state, fin_chan_send_on(a, text, sizeof text, &on, has, NULL, 0));
}

static int sends(bool with_stack) {
    if (with_stack)
        return fin_chan_send(a, text, sizeof text);
    fin_finish {
        CHECK(fin_async_cont(send_it, NULL, 0) != NULL);
    }
    return result;
}

static void lacks(int lacking, bool with_stack) {
    int sent = 0;
    open_kind(SOCKET, 4096, 0);
    error = lacking;
    CHECK_EQ(fin_chan_recv(b, text, sizeof text), -lacking); // with a continuation it waits by a poll
    while (fin_chan_try_send(a, text, sizeof text) == 0)
        sent++;
    if (!with_stack) // it polls, and receives what has come: a ring for nothing
        CHECK_EQ(send(b->in.ump.fd, "", 1, 0), 1);
    CHECK_EQ(sends(with_stack), -lacking);
    error = 0;
    for (int i = 0; i < sent; i++)
        CHECK_EQ(fin_chan_recv(b, text, sizeof text), sizeof text);
    CHECK_EQ(sends(with_stack), 0);
    close_both();
}

int main(void) {
    setenv("FIN_IO", "epoll", 1); // a ring receives without these
    CHECK_EQ(fin_sleep(1), 0);    // the epoll is there
    static const int lacking[] = {ENOMEM, ENOBUFS, ENOSPC};
    for (int i = 0; i < 6; i++)
        lacks(lacking[i / 2], i % 2);
    return 0;
}
