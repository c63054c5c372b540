// SPDX-License-Identifier: BSD-2-Clause
// What no data can come to - no descriptor, no socket, a listener - is refused at once by all that receives into buffers,
// also where it could wait until that is ready.
#define _GNU_SOURCE
#include <fin/on.h>

#include <fcntl.h>
#include <sys/eventfd.h>

#include "receiving.h"

static struct kind {
    const char *name;
    int fd, error;
} kinds[6];
static struct fin_buffers_on buffers_on;
static struct fin_on on;
static void *piece;
static int result;

static void got(void *unused, int n) {
    (void)unused;
    result = n;
    fin_cont_end();
}

static void begin_buffers(void *fd_, int unused) {
    (void)unused;
    fin_buffers_recv_on(pool, *(int *)fd_, &piece, &buffers_on, got, NULL, 0);
    CHECK(false);
}

static void begin_receiver(void *unused, int none) {
    (void)none;
    fin_receiver_next_on(receiver, &piece, &on, got, unused, 0);
    CHECK(false);
}

static ssize_t receive(int way, int fd_) {
    ssize_t n = 0;
    result = 0;
    fin_timeout(2 * FIN_S) {
        if (way == 0)
            n = fin_buffers_recv(pool, fd_, &piece, 0);
        else if (way == 1)
            n = fin_receiver_next(receiver, &piece);
        else if (way == 2)
            fin_async_cont(begin_buffers, &fd_, sizeof fd_);
        else
            fin_async_cont(begin_receiver, NULL, 0);
    }
    return way < 2 ? n : result;
}

static void make_kinds(void) {
    struct sockaddr_in address;
    int p[2], tcp = tcp_listen(&address, 1);
    CHECK_EQ(pipe(p), 0);
    kinds[0] = (struct kind){"a pipe", p[0], -ENOTSOCK};
    kinds[1] = (struct kind){"an eventfd", eventfd(0, 0), -ENOTSOCK};
    kinds[2] = (struct kind){"a file", open("/proc/self/exe", O_RDONLY), -ENOTSOCK};
    kinds[3] = (struct kind){"a listener", tcp, -ENOTCONN};
    kinds[4] = (struct kind){"none", -1, -EBADF};
    kinds[5] = (struct kind){"a number that none has", 1 << 29, -EBADF};
}

int main(void) {
    static const char *const ways[] = {"fin_buffers_recv", "fin_receiver_next", "fin_buffers_recv_on",
                                       "fin_receiver_next_on"};
    bool failed = false;
    make_kinds();
    CHECK_EQ(fin_buffers_open(&pool, 2, SIZE), 0);
    for (int i = 0; i < 24; i++) {
        struct kind *k = &kinds[i / 4];
        CHECK_EQ(fin_receiver_open(&receiver, k->fd, pool), 0);
        ssize_t n = receive(i % 4, k->fd);
        if (n != k->error) {
            fprintf(stderr, "%s of %s: %zd, not %d\n", ways[i % 4], k->name, n, k->error);
            failed = true;
        }
        CHECK(!piece);
        CHECK_EQ(fin_receiver_close(receiver), 0);
    }
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_buffers_recv(pool, -1, &piece, 0), -ECANCELED);
    }
    CHECK_EQ(fin_buffers_close(pool), 0);
    return failed;
}
