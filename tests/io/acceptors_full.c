// SPDX-License-Identifier: BSD-2-Clause
// More acceptors get a connection at once than the submission queue has entries, and each goes on accepting where that
// completes. To make room in the queue there would take up the next connection, inside of that, and so on, on a stack that
// ends.
#include <fin/stream.h>
#include <sys/resource.h>

#include "net.h"

enum { MOST = 1500 };

static int acceptors = MOST, client[MOST], taken;
static struct fin_acceptor *acceptor[MOST];
static struct sockaddr_un address[MOST];
static socklen_t address_size[MOST];

static void takes(void *which) {
    int fd = fin_acceptor_next(*(struct fin_acceptor **)which);
    if (fd == -ECANCELED)
        return;
    CHECK(fd >= 0);
    close(fd);
    taken++;
}

static void open_all(void) {
    struct rlimit l;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &l), 0);
    l.rlim_cur = l.rlim_max < 3 * MOST + 100 ? l.rlim_max : 3 * MOST + 100;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &l), 0);
    if (l.rlim_cur < 3 * MOST + 100)
        acceptors = (int)(l.rlim_cur - 100) / 3;
    if (on_valgrind())
        acceptors = 50;
    for (int i = 0; i < acceptors; i++) // Unix sockets, of which no accept is a multishot one
        CHECK_EQ(fin_acceptor_open(&acceptor[i], unix_listen(&address[i], &address_size[i], 4), SOCK_CLOEXEC), 0);
}

static void connect_all(void) {
    for (int i = 0; i < acceptors; i++) {
        client[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK_EQ(connect(client[i], (struct sockaddr *)&address[i], address_size[i]), 0);
    }
}

// On a stack of Fin's.
static void accepts(void *unused) {
    (void)unused;
    fin_finish {
        for (int i = 0; i < 2 * acceptors; i++)
            fin_async_call(takes, &acceptor[i / 2]);
        CHECK_EQ(fin_sleep(FIN_US), 0); // they have gone down
        connect_all();
        while (taken < acceptors)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel();
    }
    CHECK_EQ(taken, acceptors);
}

int main(void) {
    CHECK_EQ(fin_set_stack_size(16384), 0);
    open_all();
    fin_finish {
        fin_async_eager_call(accepts, NULL);
    }
    for (int i = 0; i < acceptors; i++)
        CHECK_EQ(fin_acceptor_close(acceptor[i]), 0);
    return 0;
}
