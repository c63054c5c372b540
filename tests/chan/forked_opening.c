// SPDX-License-Identifier: BSD-2-Clause
// A process forks while it waits in fin_chan_accept, fin_chan_connect or fin_chan_take. When it dies the other side is told,
// though its child lives on.
#include "chan.h"

enum { ACCEPTS, CONNECTS, TAKES, WAYS };
static const int ways[] = {ACCEPTS, CONNECTS, TAKES};
static char name[64];
static int told[2]; // to the test

static void opens(void *way) {
    struct fin_chan_listener *l;
    struct fin_chan *c;
    char byte;
    int r = 0;
    if (*(const int *)way == ACCEPTS)
        r = fin_chan_listen(&l, name, NULL);
    if (r == 0)
        r = *(const int *)way == ACCEPTS    ? fin_chan_accept(l, &c)
            : *(const int *)way == CONNECTS ? fin_chan_connect(&c, name, 0)
                                            : fin_chan_take(&c, sockets[1], 0);
    CHECK_EQ(r, 0);
    CHECK_EQ(fin_chan_recv(c, &byte, 1), 1);
    kill(getpid(), SIGKILL);
}

static void opens_and_forks(void *way) {
    fin_finish {
        fin_async_call(opens, way);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        pid_t pid = fork();
        if (pid == 0) { // it ends where the test tells it to, or ends
            alarm(60);
            pause();
            _exit(0);
        }
        CHECK_EQ(write(told[1], &pid, sizeof pid), sizeof pid);
    }
}

// The other side, when the child is there.
static int meets(int way, struct fin_chan_listener *l) {
    if (way == CONNECTS)
        return fin_chan_accept(l, &a);
    if (way == TAKES)
        return fin_chan_offer(&a, sockets[0], NULL);
    return fin_chan_connect(&a, name, 0);
}

static void one(const int *way) {
    struct fin_chan_listener *l = NULL;
    pid_t forked;
    char byte = 0;
    if (*way == CONNECTS)
        CHECK_EQ(fin_chan_listen(&l, name, NULL), 0);
    pid_t pid = child(opens_and_forks, (void *)way);
    CHECK_EQ(read(told[0], &forked, sizeof forked), sizeof forked);
    CHECK_EQ(meets(*way, l), 0);
    CHECK_EQ(fin_chan_send(a, &byte, 1), 0);
    ssize_t n = 0;
    fin_timeout(20 * FIN_S) {
        n = fin_chan_recv(a, &byte, 1);
    }
    kill(forked, SIGKILL);
    CHECK_EQ(n, -ECONNRESET);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK_EQ(fin_chan_close(a), 0);
    if (l)
        fin_chan_listener_close(l);
}

int main(void) {
    skip_without_forks_of_threads();
    CHECK_EQ(pipe(told), 0);
    for (int i = 0; i < WAYS; i++) {
        snprintf(name, sizeof name, "@fin-forked-opening-%d-%d", (int)getpid(), i);
        one(&ways[i]);
    }
    return 0;
}
