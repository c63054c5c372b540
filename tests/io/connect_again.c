// SPDX-License-Identifier: BSD-2-Clause
// A connection that was refused leaves its socket as connect(2) does: not connected, and good for another address.
#include "net.h"

int main(void) {
    struct sockaddr_in nobody, somebody;
    int bound = tcp_listen(&nobody, -1), listener = tcp_listen(&somebody, 1);
    for (int mode = 0; mode < 2; mode++) {
        int fd = socket(AF_INET, SOCK_STREAM | (mode ? SOCK_NONBLOCK : 0), 0);
        char c;
        for (int i = 0; i < 2; i++) {
            CHECK_EQ(fin_connect(fd, (struct sockaddr *)&nobody, sizeof nobody), -ECONNREFUSED);
            CHECK_EQ(fin_recv(fd, &c, 1, 0), -ENOTCONN);
        }
        CHECK_EQ(fin_connect(fd, (struct sockaddr *)&somebody, sizeof somebody), 0);
        int peer = fin_accept(listener, NULL, NULL);
        CHECK(peer >= 0);
        CHECK_EQ(fin_send(fd, "x", 1, 0), 1);
        CHECK_EQ(fin_recv(peer, &c, 1, 0), 1);
        CHECK_EQ(fin_connect(fd, (struct sockaddr *)&somebody, sizeof somebody), -EISCONN);
        CHECK_EQ(fin_send(fd, "x", 1, 0), 1); // which it stays
        CHECK_EQ(fin_recv(peer, &c, 1, 0), 1);
        close(peer);
        close(fd);
    }
    close(bound);
    close(listener);
    return 0;
}
