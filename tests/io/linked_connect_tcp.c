// SPDX-License-Identifier: BSD-2-Clause
// A step that connects a TCP socket in non-blocking mode waits for the connection, whatever thread of the kernel begins it:
// one that has just written to a file does not wait.
#include <fcntl.h>
#include <fin/linked.h>

#include "net.h"

static struct sockaddr_in somebody, nobody;
static int file, listener;

static int a_socket(void) {
    int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CHECK(s >= 0);
    return s;
}

static void connects(unsigned behind) {
    char c = 0, data[3000] = {0};
    int fd = a_socket();
    struct fin_step s[] = {fin_step_pwrite(file, data, sizeof data, 0),
                           fin_step_connect(fd, (struct sockaddr *)&somebody, sizeof somebody),
                           fin_step_send(fd, "x", 1, 0), fin_step_fsync(file)};
    CHECK_EQ(fin_linked(s, 2 + behind), 2 + (int)behind);
    int peer = accept(listener, NULL, NULL);
    CHECK(peer >= 0);
    if (behind == 0)
        CHECK_EQ(send(fd, "x", 1, 0), 1);
    CHECK_EQ(recv(peer, &c, 1, 0), 1);
    CHECK_EQ(c, 'x');
    close(peer);
    close(fd);
}

static void is_refused(unsigned behind) {
    char data[3000] = {0};
    int fd = a_socket();
    struct fin_step s[] = {fin_step_pwrite(file, data, sizeof data, 0),
                           fin_step_connect(fd, (struct sockaddr *)&nobody, sizeof nobody), fin_step_send(fd, "x", 1, 0)};
    CHECK_EQ(fin_linked(s, 2 + behind), 1);
    CHECK_EQ(s[1].result, -ECONNREFUSED);
    CHECK_EQ(s[2].result, -ECANCELED);
    CHECK_EQ(connect(fd, (struct sockaddr *)&somebody, sizeof somebody), -1); // it is as new
    CHECK_EQ(errno, EINPROGRESS);
    int peer = accept(listener, NULL, NULL);
    CHECK(peer >= 0);
    close(peer);
    close(fd);
}

int main(void) {
    int bound = tcp_listen(&nobody, -1);
    listener = tcp_listen(&somebody, 8);
    file = nameless_file();
    for (int i = 0; i < 100; i++) {
        connects((unsigned)i % 3);
        is_refused((unsigned)i % 2);
    }
    close(bound);
    return 0;
}
