// SPDX-License-Identifier: BSD-2-Clause
// A child of fork cancels what its parent waits for, which the parent has submitted or not: in the child it is cancelled,
// and in the parent it goes on undisturbed. The child's own I/O works afterwards.
#include <fcntl.h>
#include <sys/wait.h>

#include "net.h"

enum { RECV, RECV_ON, ACCEPT, ACCEPTOR, RECEIVER, LINKED, SLEEP, WAITS };

static int pairs[WAITS][2], listener[2], results[WAITS];
static char bytes[WAITS][8];

#include "fork_waits.h"

static FIN_BLOCKING int linked(void) {
    struct fin_step steps[] = {fin_step_recv(pairs[LINKED][0], bytes[LINKED], 3, MSG_WAITALL),
                               fin_step_send(pairs[LINKED][0], "ok", 2, 0)};
    return fin_linked(steps, 2);
}

static struct fin_acceptor *acceptor;
static struct fin_receiver *receiver;
static struct fin_buffers *buffers;
static struct sockaddr_in addresses[2];

static void own_io(void) {
    int up[2];
    char c;
    stream_pair(up);
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    CHECK_EQ(fin_send(up[0], "x", 1, 0), 1);
    CHECK_EQ(fin_recv(up[1], &c, 1, 0), 1);
}

static void in_child(void) {
    for (int i = 0; i < WAITS; i++)
        CHECK_EQ(results[i], -ECANCELED);
    own_io();
    _exit(0);
}

static void in_parent(pid_t pid) {
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (int i = 0; i < WAITS; i++)
        CHECK_EQ(results[i], 1);
    const int streams[] = {RECV, RECV_ON, RECEIVER, LINKED};
    for (int i = 0; i < 4; i++)
        CHECK_EQ(send(pairs[streams[i]][1], "abc", 3, 0), 3);
    for (int i = 0; i < 2; i++)
        close(tcp_connect(&addresses[i]));
}

static void forked(bool submitted) {
    pid_t pid;
    for (int i = 0; i < WAITS; i++)
        results[i] = 1;
    fin_finish {
        fin_async { results[RECV] = (int)fin_recv(pairs[RECV][0], bytes[RECV], 8, 0); };
        CHECK(fin_async_cont(receives, NULL, 0) != NULL);
        fin_async { results[ACCEPT] = fin_accept(listener[0], NULL, NULL); };
        fin_async { results[ACCEPTOR] = fin_acceptor_next(acceptor); };
        fin_async {
            void *piece;
            results[RECEIVER] = (int)fin_receiver_next(receiver, &piece);
            if (results[RECEIVER] > 0)
                CHECK_EQ(fin_buffers_put(buffers, piece), 0);
        };
        fin_async { results[LINKED] = linked(); };
        fin_async { results[SLEEP] = fin_sleep(200 * FIN_MS); };
        fin_yield();
        if (submitted)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            fin_cancel();
        else
            in_parent(pid);
    }
    if (pid == 0)
        in_child();
    for (int i = 0; i < WAITS; i++)
        CHECK_EQ(results[i] >= 0, true);
    CHECK(results[RECV] == 3 && results[RECV_ON] == 3 && results[RECEIVER] == 3 && results[LINKED] == 2);
    close(results[ACCEPT]);
    close(results[ACCEPTOR]);
}

int main(void) {
    if (ON_TSAN)
        SKIP("TSan has no fibers in the child for what its parent's AWEs go on with");
    alarm(60);
    for (int i = 0; i < WAITS; i++)
        stream_pair(pairs[i]);
    for (int i = 0; i < 2; i++)
        listener[i] = tcp_listen(&addresses[i], 8);
    CHECK_EQ(fin_buffers_open(&buffers, 4, 64), 0);
    CHECK_EQ(fin_acceptor_open(&acceptor, listener[1], SOCK_CLOEXEC), 0);
    CHECK_EQ(fin_receiver_open(&receiver, pairs[RECEIVER][0], buffers), 0);
    for (int i = 0; i < 4; i++)
        forked(i & 1);
    CHECK_EQ(fin_receiver_close(receiver), 0);
    CHECK_EQ(fin_buffers_close(buffers), 0);
    CHECK_EQ(fin_acceptor_close(acceptor), 0);
    return 0;
}
