// SPDX-License-Identifier: BSD-2-Clause
// Who asks for a connection while an acceptor is being stopped or closed, with a stack or without, hears when that is over;
// and as long as somebody has not heard, it is not freed.
#include <fin/stream.h>

#include "net.h"

static struct fin_acceptor *acceptor;
static struct sockaddr_un name;
static struct fin_on on;
static int shut, stopped;
static bool over;

static void stops(void *closes) {
    stopped = (closes ? fin_acceptor_close : fin_acceptor_stop)(acceptor);
    over = true;
}

static void takes(void *unused) {
    (void)unused;
    CHECK_EQ(fin_acceptor_next(acceptor), -ESHUTDOWN);
    shut++;
}

static void taken(void *state, int fd) {
    (void)state;
    CHECK_EQ(fd, -ESHUTDOWN);
    shut++;
    fin_cont_end();
}

static void takes_on(void *state, int unused) {
    (void)state, (void)unused;
    fin_acceptor_next_on(acceptor, &on, taken, NULL, 0);
}

// One that has begun to accept.
static void begin(int listener) {
    CHECK_EQ(fin_acceptor_open(&acceptor, listener, 0), 0);
    fin_timeout(FIN_MS) {
        CHECK_EQ(fin_acceptor_next(acceptor), -ECANCELED);
    }
    over = false;
    stopped = shut = 0;
}

static void stop_it(int listener, bool closes, void (*connects)(void)) {
    int asked = 0;
    begin(listener);
    fin_finish {
        fin_async_call(stops, closes ? &name : NULL);
        if (!over && ++asked)
            CHECK(fin_async_cont(takes_on, &asked, sizeof asked) != NULL);
        for (; !over; asked++) { // until the last moment
            fin_async_call(takes, NULL);
            fin_yield();
        }
    }
    CHECK_EQ(shut, asked);
    CHECK_EQ(stopped, asked && closes ? -EBUSY : 0);
    if (asked == 0 && closes)
        return;
    connects(); // this is nobody's
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    CHECK_EQ(fin_acceptor_next(acceptor), -ESHUTDOWN);
    CHECK_EQ(fin_acceptor_close(acceptor), 0);
    close(accept(listener, NULL, NULL));
}

static socklen_t size;
static struct sockaddr_in address;
static void connect_unix(void) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&name, size), 0);
    close(fd);
}
static void connect_tcp(void) { close(tcp_connect(&address)); }

int main(void) {
    alarm(20);
    for (int tcp = 0; tcp < 2; tcp++) {
        int listener = tcp ? tcp_listen(&address, 4) : unix_listen(&name, &size, 4);
        for (int i = 0; i < 20; i++)
            stop_it(listener, i % 2, tcp ? connect_tcp : connect_unix);
        close(listener);
    }
    return 0;
}
