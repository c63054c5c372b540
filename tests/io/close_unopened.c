// SPDX-License-Identifier: BSD-2-Clause
// A number that is not open is closed, which shares its place among the notes of closes with that of a socket: what waits
// for the socket goes on.
#include <fcntl.h>

#include "net.h"

enum { PLACES = 1 << 20 };

static int to[2], from[2];
static char much[1 << 20];

static void receives(void *unused) {
    char byte;
    (void)unused;
    CHECK_EQ(fin_recv(from[0], &byte, 1, 0), 1);
}

static void sends(void *unused) {
    (void)unused;
    CHECK_EQ(fin_send_all(to[0], much, sizeof much, 0, NULL), 0);
}

static void close_beside(int fd) {
    CHECK_EQ(fcntl(fd + PLACES, F_GETFD), -1);
    CHECK_EQ(fin_close(fd + PLACES), -EBADF);
}

int main(void) {
    static char room[sizeof much];
    alarm(60);
    stream_pair(to);
    stream_pair(from);
    fin_finish {
        fin_async_call(receives, NULL);
        fin_async_call(sends, NULL);
        fin_yield();
        close_beside(from[0]);
        close_beside(to[0]);
        CHECK_EQ(fin_send(from[1], "x", 1, 0), 1);
        CHECK_EQ(fin_read_all(to[1], room, sizeof room, NULL), 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(fin_close(to[i]), 0);
        CHECK_EQ(fin_close(from[i]), 0);
    }
    return 0;
}
