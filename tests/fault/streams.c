// SPDX-License-Identifier: BSD-2-Clause
// An acceptor, receivers with buffers that they share, zero-copy sends; cancelled in the end, with all of it waiting.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <fin/fixed.h>
#include <fin/stream.h>

#include "fault.h"

enum { CLIENTS = 3, SIZE = 700 };

static int listener, served;
static struct sockaddr_in address;
static struct fin_buffers *buffers;

static void serve(void *socket) {
    int fd = (int)(intptr_t)socket;
    struct fin_receiver *r;
    char all[SIZE];
    size_t got = 0;
    ssize_t n = 1;
    if (fine(fin_receiver_open(&r, fd, buffers))) {
        while (got < SIZE) {
            void *piece;
            n = fin_receiver_next(r, &piece);
            if (!fine(n) || n == 0)
                break;
            CHECK(got + (size_t)n <= SIZE);
            memcpy(all + got, piece, (size_t)n);
            got += (size_t)n;
            fine(fin_buffers_put(buffers, piece));
        }
        fine(fin_receiver_close(r));
        for (size_t i = 0; i < got; i++)
            CHECK_EQ(all[i], (char)(i * 5));
        served += got == SIZE;
    }
    close(fd);
}

static void accept_all(void) {
    struct fin_acceptor *a;
    if (!fine(fin_acceptor_open(&a, listener, SOCK_CLOEXEC)))
        return;
    fin_finish {
        for (int i = 0; i < CLIENTS && !failed(); i++) {
            int fd = fin_acceptor_next(a);
            if (!fine(fd))
                break;
            fin_async_call(serve, (void *)(intptr_t)fd);
        }
        if (failed())
            fin_cancel();
    }
    fine(fin_acceptor_close(a));
}

static void send_one(void) {
    char data[SIZE];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!fine_errno(fd))
        return;
    for (int i = 0; i < SIZE; i++)
        data[i] = (char)(i * 5);
    if (fine(fin_connect(fd, (struct sockaddr *)&address, sizeof address)) && fine(fin_send_all(fd, data, 100, 0, NULL)))
        fine(fin_send_zc(fd, data + 100, SIZE - 100, 0));
    close(fd);
}

static void all_clients(void) {
    fin_finish_as(all) {
        fin_async {
            accept_all();
            if (failed())
                fin_cancel_as(all);
        };
        for (int i = 0; i < CLIENTS; i++) {
            fin_async {
                send_one();
                if (failed())
                    fin_cancel_as(all);
            };
        }
    }
    CHECK(failed() || served == CLIENTS);
}

static int pair[2];

static void wait_for_nobody(void *unused) {
    void *piece;
    (void)unused;
    ssize_t n = fin_buffers_recv(buffers, pair[0], &piece, 0);
    CHECK(n < 0);
    fine(n == -ECANCELED ? 0 : n);
}

static void nobody_comes(void) {
    if (!fine_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)))
        return;
    fin_finish {
        fin_async_call(wait_for_nobody, NULL);
        fin_yield();
        fin_cancel();
    }
    close(pair[0]);
    close(pair[1]);
}

const int threads = 0;
void (*const prepare)(void) = NULL;

void scenario(void) {
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    served = 0;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!fine_errno(listener))
        return;
    if (fine_errno(bind(listener, (struct sockaddr *)&address, size)) && fine_errno(listen(listener, 8))) {
        CHECK_EQ(getsockname(listener, (struct sockaddr *)&address, &size), 0);
        if (fine(fin_buffers_open(&buffers, 2, 256))) {
            all_clients();
            nobody_comes();
            CHECK_EQ(fin_buffers_close(buffers), 0);
        }
    }
    close(listener);
}
