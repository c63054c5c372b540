// SPDX-License-Identifier: BSD-2-Clause
// A process cancels what it waits for and forks before the kernel has answered: the calls end in the child, too, so that it
// can leave their block, and has I/O of its own; and in the parent as if there were no child.
#include <poll.h>
#include <sys/wait.h>

#include "net.h"

enum { RECV, RECV_ON, MESSAGE, ACCEPT, POLL, CONNECT, LINKED, WAITS };

static int pairs[WAITS][2], results[WAITS], listener, full, fd;
static struct sockaddr_in address, full_address;
static char bytes[WAITS][64];

#include "fork_waits.h"

static FIN_BLOCKING int linked(void) {
    struct fin_step steps[] = {fin_step_recv(pairs[LINKED][0], bytes[LINKED], 3, MSG_WAITALL),
                               fin_step_send(pairs[LINKED][0], "ok", 2, 0), fin_step_recv(pairs[LINKED][0], bytes[0], 1, 0)};
    return fin_linked(steps, 3);
}

static FIN_BLOCKING int message(void) {
    struct iovec v = {bytes[MESSAGE], 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = bytes[MESSAGE] + 8, .msg_controllen = 40};
    return (int)fin_recvmsg(pairs[MESSAGE][0], &m, 0);
}

static void all_cancelled(void) {
    for (int i = 0; i < WAITS; i++)
        CHECK_EQ(results[i], -ECANCELED);
}

static void in_child(void) {
    int up[2];
    char c;
    all_cancelled();
    stream_pair(up);
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    CHECK_EQ(fin_send(up[0], "x", 1, 0), 1);
    CHECK_EQ(fin_recv(up[1], &c, 1, 0), 1);
    _exit(0);
}

// `sent`: whether the kernel has seen the cancellations.
static void forked(bool sent) {
    pid_t pid = -1;
    int status;
    fd = socket(AF_INET, SOCK_STREAM, 0);
    for (int i = 0; i < WAITS; i++)
        results[i] = 1;
    fin_finish {
        fin_async { results[RECV] = (int)fin_recv(pairs[RECV][0], bytes[RECV], 8, 0); };
        CHECK(fin_async_cont(receives, NULL, 0) != NULL);
        fin_async { results[MESSAGE] = message(); };
        fin_async { results[ACCEPT] = fin_accept(listener, NULL, NULL); };
        fin_async { results[POLL] = fin_poll(pairs[POLL][0], POLLIN); };
        fin_async { results[CONNECT] = fin_connect(fd, (struct sockaddr *)&full_address, sizeof full_address); };
        fin_async { results[LINKED] = linked(); };
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        fin_cancel();
        if (sent)
            fin_yield();
        pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            alarm(20);
    }
    if (pid == 0)
        in_child();
    all_cancelled();
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(fd);
}

int main(void) {
    if (ON_TSAN)
        SKIP("TSan has no fibers in the child for what its parent's AWEs go on with");
    for (int i = 0; i < WAITS; i++)
        stream_pair(pairs[i]);
    listener = tcp_listen(&address, 8);
    full = tcp_listen(&full_address, 0);
    for (int i = 0; i < 4; i++)
        connect(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), (struct sockaddr *)&full_address, sizeof full_address);
    for (int i = 0; i < 4; i++)
        forked(i & 1);
    return 0;
}
