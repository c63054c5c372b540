// SPDX-License-Identifier: BSD-2-Clause
// Coroutines of many connections receive into few buffers with co::recv: every byte once and in order. A wait that is
// cancelled has received nothing and holds no buffer.
#include <sys/socket.h>
#include <unistd.h>

#include <fin/coro.hpp>

#include "check.h"

namespace co = fin::co;

enum { CONNECTIONS = 5, BUFFERS = 2, SIZE = 64, BYTES = 3000 };
static fin_buffers *pool;
static int ended;

static fin::task<> takes_all(int fd) {
    void *piece;
    int n, all = 0;
    while ((n = co_await co::recv(pool, fd, piece)) > 0) {
        CHECK(n <= SIZE);
        for (int i = 0; i < n; i++)
            CHECK_EQ(static_cast<unsigned char *>(piece)[i], (all + i) % 251);
        all += n;
        if (all % 3 == 0)
            CHECK_EQ(co_await co::sleep(1), 0); // others lack the buffer meanwhile
        CHECK_EQ(fin_buffers_put(pool, piece), 0);
    }
    CHECK_EQ(n, 0);
    CHECK_EQ(all, +BYTES);
    CHECK(piece == nullptr);
    ended++;
}

static fin::task<> is_cancelled(int fd) {
    void *piece = &ended;
    CHECK_EQ(co_await co::recv(pool, fd, piece), -ECANCELED);
    CHECK(piece == nullptr);
    ended++;
}

int main() {
    int fd[CONNECTIONS][2];
    unsigned char bytes[BYTES];
    for (int i = 0; i < BYTES; i++)
        bytes[i] = static_cast<unsigned char>(i % 251);
    CHECK_EQ(fin_buffers_open(&pool, BUFFERS, SIZE), 0);
    for (auto &pair : fd)
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    fin_finish {
        for (auto &pair : fd)
            fin_async_task(is_cancelled(pair[0]));
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(ended, 0);
        fin_cancel();
        fin_async_task(is_cancelled(fd[0][0]));
    }
    CHECK_EQ(ended, CONNECTIONS + 1);
    fin_finish {
        for (auto &pair : fd)
            fin_async_task(takes_all(pair[0]));
        for (int sent = 0; sent < BYTES; sent += BYTES / 10)
            for (auto &pair : fd)
                CHECK_EQ(fin_send_all(pair[1], bytes + sent, BYTES / 10, 0, nullptr), 0);
        for (auto &pair : fd)
            close(pair[1]);
    }
    CHECK_EQ(ended, 2 * CONNECTIONS + 1);
    for (auto &pair : fd)
        close(pair[0]);
    CHECK_EQ(fin_buffers_close(pool), 0);
    return 0;
}
