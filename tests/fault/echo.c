// SPDX-License-Identifier: BSD-2-Clause
// A server and its client: accept, connect, send, receive, all at once, with a time limit.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>

#include "fault.h"

enum { SIZE = 3000 };

static int listener;
static struct sockaddr_in address;

static bool move(int fd, char *buffer, bool out) {
    size_t done;
    int r = out ? fin_send_all(fd, buffer, SIZE / 2, 0, &done) : fin_recv_all(fd, buffer, SIZE / 2, 0, &done);
    size_t half = done;
    if (r == 0)
        r = out ? fin_write_all(fd, buffer + half, SIZE - half, &done) : fin_read_all(fd, buffer + half, SIZE - half, &done);
    done += r == 0 ? half : 0;
    CHECK(r != 0 || done == SIZE);
    return fine(r);
}

static void serve(void) {
    char buffer[SIZE];
    int fd = fin_accept(listener, NULL, NULL);
    if (!fine(fd))
        return;
    if (move(fd, buffer, false))
        move(fd, buffer, true);
    if (!fine(fin_close(fd)))
        close_again(fd);
}

static void ask(void) {
    char out[SIZE], in[SIZE] = {0};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!fine_errno(fd))
        return;
    for (int i = 0; i < SIZE; i++)
        out[i] = (char)(i * 7);
    if (fine(fin_connect(fd, (struct sockaddr *)&address, sizeof address)) && move(fd, out, true) && move(fd, in, false))
        CHECK(memcmp(in, out, SIZE) == 0);
    close(fd);
}

const int threads = 0;
void (*const prepare)(void) = NULL;

void scenario(void) {
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!fine_errno(listener))
        return;
    if (fine_errno(bind(listener, (struct sockaddr *)&address, size)) && fine_errno(listen(listener, 8))) {
        CHECK_EQ(getsockname(listener, (struct sockaddr *)&address, &size), 0);
        fin_finish_as(both) {
            fin_async {
                serve();
                if (failed())
                    fin_cancel_as(both);
            };
            fin_async {
                ask();
                if (failed())
                    fin_cancel_as(both);
            };
        }
    }
    close(listener);
}
