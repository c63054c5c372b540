// SPDX-License-Identifier: BSD-2-Clause
// A step that connects a Unix socket in non-blocking mode waits, as fin_connect does, until its peer has fewer to accept;
// cancelled meanwhile it has not connected.
#include <fcntl.h>
#include <fin/linked.h>

#include "net.h"

enum { FIRST = 2 }; // a backlog of 1 holds so many

static struct sockaddr_un name;
static socklen_t size;
static int listener, fd, count;
static struct fin_step steps[2];

static int a_socket(void) {
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CHECK(s >= 0);
    return s;
}

static void connect_and_send(void *before) {
    steps[0] = fin_step_connect(fd, (struct sockaddr *)&name, size);
    steps[1] = fin_step_send(fd, "x", 1, 0);
    if (before) { // which makes the connection a later step
        struct fin_step s[3] = {fin_step_write(*(int *)before, "b", 1), steps[0], steps[1]};
        count = fin_linked(s, 3) - 1;
        steps[0] = s[1];
        steps[1] = s[2];
    } else {
        count = fin_linked(steps, 2);
    }
}

static void accept_and_read(char expected) {
    char c = 0;
    int s = accept(listener, NULL, NULL);
    CHECK(s >= 0);
    CHECK_EQ(recv(s, &c, 1, 0), expected ? 1 : 0);
    CHECK_EQ(c, expected);
    close(s);
}

static void connects(void *before, bool cancelled) {
    fd = a_socket();
    for (int i = 0; i < FIRST; i++) {
        int s = a_socket();
        CHECK_EQ(connect(s, (struct sockaddr *)&name, size), 0);
        close(s);
    }
    fin_finish {
        fin_async_call(connect_and_send, before);
        CHECK_EQ(fin_sleep(3 * FIN_MS), 0);
        if (cancelled)
            fin_cancel();
        else
            accept_and_read(0);
    }
    for (int i = cancelled ? 0 : 1; i < FIRST; i++)
        accept_and_read(0);
    CHECK_EQ(steps[0].result, cancelled ? -ECANCELED : 0);
    CHECK_EQ(steps[1].result, cancelled ? -ECANCELED : 1);
    CHECK_EQ(count, !cancelled ? 2 : before ? 0 : -ECANCELED);
    if (!cancelled)
        accept_and_read('x');
    CHECK_EQ(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
    CHECK_EQ(accept(listener, NULL, NULL), -1);
    CHECK_EQ(fcntl(listener, F_SETFL, 0), 0);
    close(fd);
}

int main(void) {
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    listener = unix_listen(&name, &size, FIRST - 1);
    for (int cancelled = 0; cancelled < 2; cancelled++) {
        connects(NULL, cancelled);
        connects(&ends[1], cancelled);
    }
    return 0;
}
