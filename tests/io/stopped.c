// SPDX-License-Identifier: BSD-2-Clause
// A process that is stopped and goes on, as by job control or a debugger, has no call interrupted: what waits in the kernel,
// and be it on a thread of a ring's, waits on, and is told what comes then.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <fin/on.h>

#include "stops.h"

enum { STOPS = 3 };

static char much[1 << 16];
static struct sockaddr_un name;
static socklen_t name_size;
static int listener, client[2], empty[2], full[2], half[2], from[2], to;
static struct fin_more_on on;
static int connected, connected_on, received, sent, written, spliced, polled;

static void ended(void *state, int r) {
    (void)state;
    connected_on = r;
    fin_cont_end();
}

static void connects(void *state, int unused) {
    (void)state, (void)unused;
    fin_connect_on(&on, client[1], (struct sockaddr *)&name, name_size, ended, NULL, 0);
}

static void fill(int fd) {
    while (send(fd, much, sizeof much, MSG_DONTWAIT) > 0)
        continue;
}

// One connection is all that there is room for.
static void set_up(void) {
    int first = socket(AF_UNIX, SOCK_STREAM, 0);
    listener = unix_listen(&name, &name_size, 0);
    CHECK_EQ(connect(first, (struct sockaddr *)&name, name_size), 0);
    client[0] = socket(AF_UNIX, SOCK_STREAM, 0);
    client[1] = socket(AF_UNIX, SOCK_STREAM, 0);
    stream_pair(empty);
    stream_pair(full);
    stream_pair(half);
    fill(full[0]);
    fill(half[0]);
    CHECK_EQ(shutdown(half[1], SHUT_WR), 0);
    CHECK_EQ(pipe(from), 0);
    to = nameless_file();
}

static void drain(int fd) {
    while (recv(fd, much, sizeof much, MSG_DONTWAIT) > 0)
        continue;
}

static void let_all_go_on(void) {
    for (int i = 0; i < 3; i++) {
        int peer = fin_accept_nc(listener, NULL, NULL);
        CHECK(peer >= 0);
        close(peer);
    }
    CHECK_EQ(write(empty[1], "ab", 2), 2);
    CHECK_EQ(write(from[1], "xyz", 3), 3);
    drain(full[1]);
    drain(half[1]);
}

static void waits(int told, int tell) {
    char c;
    set_up();
    fin_finish {
        fin_async { connected = fin_connect(client[0], (struct sockaddr *)&name, name_size); };
        CHECK(fin_async_cont(connects, NULL, 0) != NULL);
        fin_async { received = (int)fin_recv(empty[0], much, 1, 0); };
        fin_async { sent = (int)fin_send(full[0], much, 1, 0); };
        fin_async { written = (int)fin_write(half[0], much, 1); };
        fin_async { spliced = (int)fin_splice(from[0], NULL, to, NULL, 3, 0); };
        fin_async { polled = fin_poll(empty[0], POLLIN); };
        CHECK_EQ(fin_sleep(20 * FIN_MS), 0);
        CHECK_EQ(write(tell, "x", 1), 1);
        CHECK_EQ(fin_read(told, &c, 1), 1);
        let_all_go_on();
    }
    CHECK_EQ(connected, 0);
    CHECK_EQ(connected_on, 0);
    CHECK_EQ(received, 1);
    CHECK_EQ(sent, 1);
    CHECK_EQ(written, 1);
    CHECK_EQ(spliced, 3);
    CHECK_EQ(polled, POLLIN);
}

int main(void) {
    stop_while(waits, STOPS, 0);
    return 0;
}
