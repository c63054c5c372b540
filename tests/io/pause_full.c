// SPDX-License-Identifier: BSD-2-Clause
// As many sends as the submission queue has entries, to a socket that is ready for ever and has no room: the thread finds
// the queue full as it looks for events, and makes room until each send is to be tried again after a pause. It must not
// sleep longer than that.
#include <poll.h>

#include "send_on_many.h"

static int fd, peer, sends;

static void together(void *unused) {
    (void)unused;
    to = fd;
    sent = 0;
    fin_finish {
        for (int i = 0; i < sends; i++) {
            struct fin_on *its = &on[i];
            CHECK(fin_async_cont(send_one, &its, sizeof its) != NULL);
        }
    }
    CHECK_EQ(sent, sends);
    CHECK_EQ(shutdown(fd, SHUT_WR), 0);
}

static bool has_room(const char *data, size_t size) { return send(fd, data, size, MSG_DONTWAIT) > 0; }

// Word of a send without a copy stays in the error queue. What the peer acknowledges late makes room.
static void fill(void) {
    static const char zeros[65536];
    struct pollfd p = {.fd = fd}; // for POLLERR
    int one = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof one) != 0)
        SKIP("no sends without a copy");
    CHECK_EQ(send(fd, zeros, sizeof zeros, MSG_ZEROCOPY), sizeof zeros);
    CHECK_EQ(poll(&p, 1, -1), 1);
    CHECK_EQ(p.revents, POLLERR);
    do {
        while (has_room(zeros, sizeof zeros) || has_room(zeros, 1))
            ;
        usleep(50000);
    } while (has_room(zeros, 1));
}

static void try_it(void) {
    static char back[65536];
    struct sockaddr_in address;
    struct fin_thread_handle h;
    int listener = tcp_listen(&address, 1);
    fd = tcp_connect(&address);
    peer = accept(listener, NULL, NULL);
    CHECK(peer >= 0);
    fill();
    CHECK_EQ(fin_thread_start(&h, together, NULL), 0);
    usleep(20000); // by now all of them wait
    while (recv(peer, back, sizeof back, 0) > 0)
        ;
    CHECK_EQ(fin_thread_join(&h), 0);
    close(fd);
    close(peer);
    close(listener);
}

int main(void) {
    const int counts[] = {7, 8, 256};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) { // a ring of its own for each
        sends = counts[i];
        try_it();
    }
    return 0;
}
