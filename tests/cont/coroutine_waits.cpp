// SPDX-License-Identifier: BSD-2-Clause
// Whatever a coroutine may wait for: messages, calls, connections, pieces, files, events of a waitset. Each gives what the
// function of that name gives, and -ECANCELED where it is cancelled.
#include <fin/coro.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"

namespace co = fin::co;

static fin_chan *a, *b;
static int ended;

static fin::task<> echoes(fin_chan *c) {
    long x;
    while (co_await co::recv(c, &x, sizeof x) == sizeof x) {
        x++;
        CHECK_EQ(co_await co::send(c, &x, sizeof x), 0);
    }
    ended++;
}

static fin::task<int> asks(fin_chan *c, long x) {
    long y = 0;
    int n = co_await co::send_recv(c, &x, sizeof x, &y, sizeof y);
    CHECK_EQ(y, x + 1);
    co_return n;
}

static fin::task<> asks_often(fin_chan *c) {
    for (long i = 0; i < 100; i++)
        CHECK_EQ(co_await asks(c, i), sizeof i);
    CHECK_EQ(fin_chan_close(c), 0);
}

static void messages(unsigned flags) {
    fin_chan_options o = {0, flags};
    CHECK_EQ(fin_chan_pair(&a, &b, &o), 0);
    ended = 0;
    fin_finish {
        fin_async_task(echoes(b));
        fin_async_task(asks_often(a));
    }
    CHECK_EQ(ended, 1);
    CHECK_EQ(fin_chan_close(b), 0);
}

// ---- calls

static fin::task<> answers(fin_rpc *r) {
    long x;
    uint32_t id;
    int n;
    while ((n = co_await co::accept(r, &x, sizeof x, id)) == sizeof x) {
        x *= 2;
        CHECK_EQ(fin_rpc_reply(r, id, &x, sizeof x), 0);
    }
    CHECK_EQ(n, -ECANCELED);
    ended++;
}

static void doubles(fin_rpc *r, uint32_t id, void *request, size_t size, void *) {
    long x;
    memcpy(&x, request, size);
    x *= 2;
    CHECK_EQ(fin_rpc_reply(r, id, &x, sizeof x), 0);
}

static fin::task<> serves(fin_rpc *r) {
    CHECK_EQ(co_await co::serve(r, doubles, nullptr), -ECANCELED);
    ended++;
}

static fin::task<> calls(fin_rpc *r, int *answered) {
    for (long i = 0, y; i < 50; i++) {
        CHECK_EQ(co_await co::call(r, &i, sizeof i, &y, sizeof y), sizeof y);
        CHECK_EQ(y, 2 * i);
        ++*answered;
    }
}

static void rpc(bool accepts) {
    fin_rpc *client, *server;
    int answered = 0;
    CHECK_EQ(fin_chan_pair(&a, &b, nullptr), 0);
    CHECK_EQ(fin_rpc_open(&client, a, FIN_RPC_CLIENT), 0);
    CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
    ended = 0;
    fin_finish {
        fin_async_task(accepts ? answers(server) : serves(server));
        fin::finish([&](fin::scope &s) {
            s.async(calls(client, &answered));
            s.async(calls(client, &answered));
        });
        CHECK_EQ(answered, 100);
        fin_cancel();
    }
    CHECK_EQ(ended, 1);
    CHECK_EQ(fin_rpc_close(client), 0);
    CHECK_EQ(fin_rpc_close(server), 0);
}

// ---- streams and files

static fin::task<> takes_all(fin_receiver *r, fin_buffers *pool, size_t *all) {
    void *piece;
    int n;
    while ((n = co_await co::next(r, piece)) > 0) {
        *all += static_cast<size_t>(n);
        CHECK_EQ(fin_buffers_put(pool, piece), 0);
    }
    CHECK_EQ(n, 0);
}

static void pieces() {
    int fd[2];
    size_t all = 0;
    fin_buffers *pool;
    fin_receiver *r;
    static char bytes[3000];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    CHECK_EQ(fin_buffers_open(&pool, 4, 512), 0);
    CHECK_EQ(fin_receiver_open(&r, fd[0], pool), 0);
    fin_finish {
        fin_async_task(takes_all(r, pool, &all));
        CHECK_EQ(fin_send_all(fd[1], bytes, sizeof bytes, 0, nullptr), 0);
        close(fd[1]);
    }
    CHECK_EQ(all, sizeof bytes);
    CHECK_EQ(fin_receiver_close(r), 0);
    CHECK_EQ(fin_buffers_close(pool), 0);
    close(fd[0]);
}

static fin::task<> reads_zeroes() {
    char bytes[8] = "x";
    int fd = co_await co::openat(AT_FDCWD, "/dev/zero", O_RDONLY);
    CHECK(fd >= 0);
    CHECK_EQ(co_await co::read(fd, bytes, sizeof bytes), sizeof bytes);
    CHECK_EQ(bytes[0], 0);
    close(fd);
    CHECK_EQ(co_await co::openat(AT_FDCWD, "/nowhere/at/all", O_RDONLY), -ENOENT);
    ended++;
}

static fin::task<> sends_in_time(int fd) {
    uint64_t due = fin_now() + FIN_MS;
    CHECK_EQ(co_await co::send_at(due, fd, "!", 1), 1);
    CHECK(fin_now() >= due);
    ended++;
}

static fin::task<> polls(int fd) {
    int events = co_await co::poll(fd, 1);
    CHECK(events & 1);
    ended++;
}

static void simple_ones() {
    int fd[2];
    ended = 0;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    fin_finish {
        fin_async_task(reads_zeroes());
        fin_async_task(polls(fd[0]));
        fin_async_task(sends_in_time(fd[1]));
    }
    CHECK_EQ(ended, 3);
    close(fd[0]);
    close(fd[1]);
}

// ---- all of them, cancelled

template <class Operation> static fin::task<> is_cancelled(Operation make) {
    CHECK_EQ(co_await make(), -ECANCELED);
    ended++;
}

// The request of a call that was cancelled comes all the same.
static void ignores(fin_rpc *, uint32_t, void *, size_t, void *) {}

// What the waits are for, which none of them gets.
struct objects {
    int fd[2], listener = socket(AF_UNIX, SOCK_STREAM, 0);
    char byte;
    void *piece;
    fin_rpc *client, *server;
    fin_acceptor *door;
    fin_buffers *pool;
    fin_receiver *r;
    fin_waitset *w;
    fin_chan *c, *d;
    fin_mutex m = FIN_MUTEX_INIT;
    fin_sem sem = FIN_SEM_INIT(0);
    fin_event e = FIN_EVENT_INIT;
    fin_awe *slot;

    objects() {
        static char full[1 << 20];
        sockaddr_un unnamed = {}; // valgrind looks at the path, too
        unnamed.sun_family = AF_UNIX;
        CHECK_EQ(bind(listener, reinterpret_cast<sockaddr *>(&unnamed), sizeof unnamed.sun_family), 0);
        CHECK_EQ(listen(listener, 1), 0);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
        CHECK_EQ(fin_chan_pair(&a, &b, nullptr), 0);
        CHECK_EQ(fin_chan_pair(&c, &d, nullptr), 0);
        CHECK_EQ(fin_rpc_open(&client, a, FIN_RPC_CLIENT), 0);
        CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
        CHECK_EQ(fin_acceptor_open(&door, listener, 0), 0);
        CHECK_EQ(fin_buffers_open(&pool, 2, 64), 0);
        CHECK_EQ(fin_receiver_open(&r, fd[0], pool), 0);
        CHECK_EQ(fin_waitset_new(&w), 0);
        while (fin_send(fd[1], full, sizeof full, MSG_DONTWAIT) > 0) {
        }
        while (recv(fd[0], full, sizeof full, MSG_DONTWAIT) > 0) {
        }
        CHECK_EQ(fin_mutex_trylock(&m), 0);
    }

    ~objects() {
        fin_mutex_unlock(&m);
        fin_waitset_close(w);
        CHECK_EQ(fin_receiver_close(r), 0);
        CHECK_EQ(fin_buffers_close(pool), 0);
        CHECK_EQ(fin_acceptor_close(door), 0);
        CHECK_EQ(fin_rpc_close(client), 0);
        CHECK_EQ(fin_rpc_close(server), 0);
        CHECK_EQ(fin_chan_close(c), 0);
        CHECK_EQ(fin_chan_close(d), 0);
        close(listener);
        close(fd[0]);
        close(fd[1]);
    }
};

static void cancelled(bool before) {
    objects o;
    int expected = 0;
    ended = 0;
    fin_finish {
        if (before)
            fin_cancel();
        auto wait = [&](auto make) {
            expected++;
            fin_async_task(is_cancelled(make));
        };
        wait([] { return co::sleep(UINT64_MAX); });
        wait([] { return co::sleep_until(UINT64_MAX); });
        wait([&] { return co::poll(o.listener, 1); });
        wait([&] { return co::accept(o.listener); });
        wait([&] { return co::next(o.door); });
        wait([&] { return co::next(o.r, o.piece); });
        wait([&] { return co::send_at(UINT64_MAX, o.fd[1], &o.byte, 1); });
        wait([&] { return co::recv(o.c, &o.byte, 1); });
        wait([&] { return co::dispatch(o.w); });
        wait([&] { return co::call(o.client, &o.byte, 1, &o.byte, 1); });
        wait([&] { return co::lock(o.m); });
        wait([&] { return co::wait(o.sem); });
        wait([&] { return co::await(o.e, 1); });
        wait([&] { return co::suspend(o.slot); });
        if (!before) {
            fin_yield();
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            CHECK_EQ(ended, 0);
            fin_cancel();
        }
    }
    CHECK_EQ(ended, expected);
    ended = 0;
    fin_finish {
        fin_async_task(is_cancelled([&] { return co::serve(o.server, ignores, nullptr); }));
        fin_yield();
        fin_cancel();
    }
    CHECK_EQ(ended, 1);
}

int main() {
    messages(FIN_CHAN_LOCAL);
    messages(0);
    rpc(true);
    rpc(false);
    pieces();
    simple_ones();
    cancelled(false);
    cancelled(true);
    return 0;
}
