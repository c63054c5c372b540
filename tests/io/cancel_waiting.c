// SPDX-License-Identifier: BSD-2-Clause
// Each operation, cancelled while it waits: -ECANCELED, nothing was done, and what it waited for still works.
#include <fcntl.h>
#include <poll.h>

#include "net.h"

static int fd[2], listener;
static char buffer[1 << 16];
static struct sockaddr_un unix_address;
static socklen_t unix_size;
static struct sockaddr_in tcp_address;

static int do_sleep(void) { return fin_sleep(3600 * FIN_S); }
static int do_sleep_until(void) { return fin_sleep_until(UINT64_MAX); }
static int do_read(void) { return (int)fin_read(fd[0], buffer, sizeof buffer); }
static int do_write(void) { return (int)fin_write(fd[1], buffer, sizeof buffer); }
static int do_recv(void) { return (int)fin_recv(fd[0], buffer, sizeof buffer, 0); }
static int do_send(void) { return (int)fin_send(fd[1], buffer, sizeof buffer, 0); }
static int do_accept(void) { return fin_accept(listener, NULL, NULL); }
static int do_poll(void) { return fin_poll(fd[0], POLLIN); }
static int do_connect_unix(void) { return fin_connect(fd[0], (struct sockaddr *)&unix_address, unix_size); }
static int do_connect_tcp(void) { return fin_connect(fd[0], (struct sockaddr *)&tcp_address, sizeof tcp_address); }

// Cancelled in the same run as it was started, after it had time to go down, and by an end from outside.
static void cancel_it(int (*operation)(void)) {
    for (int rounds = 0; rounds < 4; rounds++) {
        fin_shared int result = 1;
        fin_finish {
            fin_async { result = operation(); };
            for (int i = 0; i < rounds; i++)
                CHECK_EQ(fin_sleep(1), 0);
            CHECK_EQ(result, 1);
            fin_cancel();
        }
        CHECK_EQ(result, -ECANCELED);
    }
}

// What was cancelled has sent nothing.
static void take_all(int (*take)(void), ssize_t bytes) {
    while (bytes > 0) {
        ssize_t n = take();
        CHECK(n > 0);
        bytes -= n;
    }
    CHECK_EQ(bytes, 0);
}

static void in_pairs(void) {
    cancel_it(do_poll);
    cancel_it(do_read);
    CHECK_EQ(write(fd[1], "abc", 3), 3);
    CHECK_EQ(do_read(), 3);
    CHECK(memcmp(buffer, "abc", 3) == 0);
    fcntl(fd[1], F_SETFL, O_NONBLOCK);
    ssize_t n, full = 0;
    while ((n = write(fd[1], buffer, sizeof buffer)) > 0)
        full += n;
    fcntl(fd[1], F_SETFL, 0);
    cancel_it(do_write);
    take_all(do_read, full);
    cancel_it(do_read);
}

static void sockets(void) {
    cancel_it(do_recv);
    CHECK_EQ(write(fd[1], "abc", 3), 3);
    CHECK_EQ(do_recv(), 3);
    ssize_t n, full = 0;
    while ((n = send(fd[1], buffer, sizeof buffer, MSG_DONTWAIT)) > 0)
        full += n;
    cancel_it(do_send);
    take_all(do_recv, full);
}

static void close_both(void) {
    close(fd[0]);
    close(fd[1]);
}

// A socket whose connect was cancelled is as new.
static void connecting(void) {
    struct sockaddr_un peer;
    int full = unix_listen(&unix_address, &unix_size, 0), first = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(connect(first, (struct sockaddr *)&unix_address, unix_size), 0);
    fd[0] = socket(AF_UNIX, SOCK_STREAM, 0);
    cancel_it(do_connect_unix);
    int accepted = accept(full, NULL, NULL);
    CHECK_EQ(do_connect_unix(), 0);
    socklen_t size = sizeof peer;
    CHECK_EQ(getpeername(fd[0], (struct sockaddr *)&peer, &size), 0);
    close(accepted);
    close(first);
    close(full);
    close(fd[0]);
}

// A TCP listener that has no room drops the attempts, which go on until cancelled.
static void connecting_tcp(void) {
    int full = tcp_listen(&tcp_address, 0), first = tcp_connect(&tcp_address);
    fd[0] = socket(AF_INET, SOCK_STREAM, 0);
    cancel_it(do_connect_tcp);
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    CHECK_EQ(getpeername(fd[0], (struct sockaddr *)&peer, &size), -1);
    CHECK_EQ(errno, ENOTCONN);
    int other = tcp_listen(&tcp_address, 1);
    CHECK_EQ(do_connect_tcp(), 0);
    close(other);
    close(first);
    close(full);
    close(fd[0]);
}

int main(void) {
    cancel_it(do_sleep);
    cancel_it(do_sleep_until);
    CHECK_EQ(pipe(fd), 0);
    in_pairs();
    close_both();
    stream_pair(fd);
    in_pairs();
    sockets();
    close_both();
    struct sockaddr_in address;
    listener = tcp_listen(&address, 8);
    cancel_it(do_accept);
    int client = tcp_connect(&address), server = do_accept();
    CHECK(server >= 0);
    close(client);
    close(server);
    close(listener);
    connecting();
    connecting_tcp();
    return 0;
}
