// SPDX-License-Identifier: BSD-2-Clause
// A coroutine waits, with a stack (co::with_stack), for operations of which fin::co has none: each gives what its function
// returns, and is cancelled as that is.
#include <fcntl.h>
#include <memory>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <fin/coro.hpp>

#include "process.h"

namespace co = fin::co;

#define WAIT(...) (co_await co::with_stack([&] { return (__VA_ARGS__); }))

static int ended;

// ---- sockets

static fin::task<> answers(int listener) {
    sockaddr_in from;
    socklen_t size = sizeof from;
    int fd = WAIT(fin_accept(listener, reinterpret_cast<sockaddr *>(&from), &size));
    CHECK(fd >= 0 && from.sin_family == AF_INET);
    char a[2], b[4];
    iovec parts[] = {{a, sizeof a}, {b, sizeof b}};
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    CHECK_EQ(WAIT(fin_recvmsg(fd, &message, MSG_WAITALL)), 6);
    CHECK_EQ(WAIT(fin_writev(fd, parts, 2)), 6);
    size_t n = 1;
    CHECK_EQ(WAIT(fin_recv_all(fd, a, 2, 0, &n)), -ENODATA);
    CHECK_EQ(n, 0);
    CHECK_EQ(WAIT(fin_close(fd)), 0);
    ended++;
}

static fin::task<> asks(sockaddr_in to) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(WAIT(fin_connect(fd, reinterpret_cast<sockaddr *>(&to), sizeof to)), 0);
    char text[] = "abcdef", back[7] = "";
    iovec all = {text, 6}, halves[] = {{back, 3}, {back + 3, 3}};
    msghdr message = {};
    message.msg_iov = &all;
    message.msg_iovlen = 1;
    CHECK_EQ(WAIT(fin_sendmsg(fd, &message, 0)), 6);
    for (int n = 0; n < 6;)
        n += co_await co::poll(fd, 1) == 1 ? static_cast<int>(WAIT(fin_readv(fd, halves, 2))) : 99;
    CHECK_EQ(strcmp(back, text), 0);
    CHECK_EQ(WAIT(fin_shutdown(fd, SHUT_WR)), 0);
    CHECK_EQ(WAIT(fin_recv(fd, back, 1, 0)), 0);
    CHECK_EQ(WAIT(fin_close(fd)), 0);
    ended++;
}

static void sockets() {
    sockaddr_in here = {};
    socklen_t size = sizeof here;
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(bind(listener, reinterpret_cast<sockaddr *>(&here), size), 0);
    CHECK_EQ(getsockname(listener, reinterpret_cast<sockaddr *>(&here), &size), 0);
    CHECK_EQ(listen(listener, 5), 0);
    fin_finish {
        fin_async_task(answers(listener));
        fin_async_task(asks(here));
    }
    close(listener);
}

// ---- files

static fin::task<> files() {
    char name[] = "fin-coroutine-XXXXXX", bytes[8] = "";
    int pipes[2];
    CHECK_EQ(pipe(pipes), 0);
    close(mkstemp(name));
    int fd = WAIT(fin_open(name, O_RDWR, 0));
    CHECK(fd >= 0);
    iovec part = {const_cast<char *>("1234"), 4}, back = {bytes, 4};
    CHECK_EQ(WAIT(fin_pwritev(fd, &part, 1, 2)), 4);
    CHECK_EQ(WAIT(fin_fsync(fd)), 0);
    CHECK_EQ(WAIT(fin_preadv(fd, &back, 1, 3)), 3);
    CHECK_EQ(strcmp(bytes, "234"), 0);
    off_t from = 2;
    CHECK_EQ(WAIT(fin_splice(fd, &from, pipes[1], nullptr, 3, 0)), 3);
    CHECK_EQ(WAIT(fin_read_all(pipes[0], bytes, 3, nullptr)), 0);
    CHECK_EQ(strcmp(bytes, "123"), 0);
    CHECK_EQ(WAIT(fin_ftruncate(fd, 1)), 0);
    struct stat s;
    CHECK(fstat(fd, &s) == 0 && s.st_size == 1);
    ssize_t none = WAIT(fin_fgetxattr(fd, "user.none", bytes, sizeof bytes));
    CHECK(none == -ENODATA || none == -EOPNOTSUPP);
    fin_memory *m;
    CHECK_EQ(fin_memory_register(&m, bytes, sizeof bytes), 0);
    CHECK_EQ(WAIT(fin_pwrite_fixed(fd, m, bytes, 3, 0)), 3);
    CHECK_EQ(WAIT(fin_pread_fixed(fd, m, bytes + 3, 5, 0)), 3);
    CHECK_EQ(memcmp(bytes, "123123", 6), 0);
    CHECK_EQ(fin_memory_unregister(m), 0);
    fin_step chain[] = {fin_step_pwrite(fd, "end", 3, 0), fin_step_fsync(fd), fin_step_close(fd)};
    CHECK_EQ(WAIT(fin_linked(chain, 3)), 3);
    CHECK_EQ(WAIT(fin_unlink(name)), 0);
    close(pipes[0]);
    close(pipes[1]);
    ended++;
}

// ---- the process, and others

static fin::task<> processes() {
    const char *echo[] = {"echo", "said", nullptr};
    char said[16] = "";
    int status = -1;
    struct fin_spawn how = {};
    how.path = "echo";
    how.argv = echo;
    fin_process p;
    CHECK_EQ(WAIT(fin_run(&how, nullptr, 0, said, sizeof said, &status)), 5);
    CHECK(status == 0 && strcmp(said, "said\n") == 0);
    fin_spawn_fd quiet = {1, FIN_SPAWN_NULL};
    how.fds = &quiet;
    how.fd_count = 1;
    CHECK_EQ(fin_spawn(&p, &how), 0);
    CHECK_EQ(WAIT(fin_wait(&p, &status)), 0);
    CHECK_EQ(WAIT(fin::offload([] { return 17; })), 17);
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    fin_signals set;
    fin_signal_info info;
    CHECK_EQ(fin_signals_open(&set, &usr1), 0);
    CHECK_EQ(kill(getpid(), SIGUSR1), 0);
    CHECK_EQ(WAIT(fin_signals_next(&set, &info)), 0);
    CHECK_EQ(info.signal, SIGUSR1);
    fin_signals_close(&set);
    ended++;
}

// ---- messages

static fin::task<> listens(fin_chan_listener *l) {
    fin_chan *c;
    CHECK_EQ(WAIT(fin_chan_accept(l, &c)), 0);
    int fd;
    unsigned count = 1;
    long x = 0;
    CHECK_EQ(WAIT(fin_chan_recv_fds(c, &x, sizeof x, &fd, &count)), sizeof x);
    CHECK(x == 7 && count == 1);
    close(fd);
    const void *bytes;
    CHECK_EQ(WAIT(fin_chan_peek(c, &bytes)), sizeof x);
    CHECK_EQ(fin_chan_release(c), 0);
    uint32_t id;
    fin_rpc *r;
    CHECK_EQ(fin_rpc_open(&r, c, 0), 0);
    CHECK_EQ(co_await co::accept(r, &x, sizeof x, id), sizeof x);
    CHECK_EQ(WAIT(fin_rpc_reply(r, id, &x, sizeof x)), 0);
    while (WAIT(fin_rpc_poll(r, &x, sizeof x, &id)) == -EAGAIN)
        co_await co::yield();
    CHECK_EQ(fin_rpc_close(r), 0);
    ended++;
}

static fin::task<> connects(const char *name) {
    fin_chan *c;
    CHECK_EQ(WAIT(fin_chan_connect(&c, name, 0)), 0);
    long x = 7;
    int out = 1;
    void *room;
    CHECK_EQ(WAIT(fin_chan_send_fds(c, &x, sizeof x, &out, 1)), 0);
    CHECK_EQ(WAIT(fin_chan_reserve(c, sizeof x, &room)), 0);
    CHECK_EQ(fin_chan_commit(c, sizeof x), 0);
    uint32_t id;
    fin_rpc *r;
    CHECK_EQ(fin_rpc_open(&r, c, FIN_RPC_CLIENT), 0);
    CHECK_EQ(WAIT(fin_rpc_send(r, &x, sizeof x, &id)), 0);
    x = 0;
    CHECK_EQ(WAIT(fin_rpc_recv(r, id, &x, sizeof x)), sizeof x);
    CHECK_EQ(x, 7);
    CHECK_EQ(fin_rpc_close(r), 0);
    ended++;
}

static fin::task<> takes_event(fin_waitset *w, fin_chan *c) {
    void *which;
    CHECK_EQ(WAIT(fin_waitset_next(w, &which)), 0);
    CHECK(which == c);
    CHECK_EQ(fin_chan_try_recv(c, &which, sizeof which), 1);
    ended++;
}

static void messages() {
    char name[64];
    snprintf(name, sizeof name, "@fin-coroutine-%d", getpid());
    fin_chan_listener *l;
    fin_chan *a, *b;
    fin_waitset *w;
    CHECK_EQ(fin_chan_listen(&l, name, nullptr), 0);
    CHECK_EQ(fin_chan_pair(&a, &b, nullptr), 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, [](void *) {}, b), 0);
    fin_finish {
        fin_async_task(listens(l));
        fin_async_task(connects(name));
        fin_async_task(takes_event(w, b));
        fin_yield();
        CHECK_EQ(fin_chan_send(a, "!", 1), 0);
    }
    fin_waitset_close(w);
    CHECK_EQ(fin_chan_close(a), 0);
    CHECK_EQ(fin_chan_close(b), 0);
    fin_chan_listener_close(l);
}

// ---- cancelled

template <class Call> static fin::task<> is_cancelled(Call call) {
    CHECK_EQ(co_await co::with_stack(call), -ECANCELED);
    ended++;
}

static void cancelled(bool before) {
    int fd[2], listener = socket(AF_UNIX, SOCK_STREAM, 0), expected = 0;
    fin_chan_listener *l;
    fin_chan *a, *b, *c, *d;
    fin_waitset *w;
    char name[64], byte;
    snprintf(name, sizeof name, "@fin-coroutine-%d", getpid());
    sockaddr_un unnamed = {};
    unnamed.sun_family = AF_UNIX;
    CHECK_EQ(bind(listener, reinterpret_cast<sockaddr *>(&unnamed), sizeof unnamed.sun_family), 0);
    CHECK_EQ(listen(listener, 1), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    CHECK_EQ(fin_chan_listen(&l, name, nullptr), 0);
    CHECK_EQ(fin_chan_pair(&a, &b, nullptr), 0);
    CHECK_EQ(fin_chan_pair(&c, &d, nullptr), 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    fin_signals set;
    fin_signal_info info;
    CHECK_EQ(fin_signals_open(&set, &usr1), 0);
    iovec part = {&byte, 1};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    sockaddr_un from;
    socklen_t size = sizeof from;
    fin_chan *out;
    void *which;
    const void *bytes;
    unsigned count = 0;
    ended = 0;
    fin_finish {
        if (before)
            fin_cancel();
        auto wait = [&](auto call) {
            expected++;
            fin_async_task(is_cancelled(call));
        };
        wait([&] { return fin_accept(listener, reinterpret_cast<sockaddr *>(&from), &size); });
        wait([&] { return fin_recvmsg(fd[0], &message, 0); });
        wait([&] { return fin_readv(fd[0], &part, 1); });
        wait([&] { return fin_recv_all(fd[0], &byte, 1, 0, nullptr); });
        wait([&] { return fin_signals_next(&set, &info); });
        wait([&] { return fin_chan_accept(l, &out); });
        wait([&] { return fin_chan_recv_fds(a, &byte, 1, nullptr, &count); });
        wait([&] { return fin_chan_peek(c, &bytes); });
        wait([&] { return fin_waitset_next(w, &which); });
        if (!before) {
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            CHECK_EQ(ended, 0);
            fin_cancel();
        }
    }
    CHECK_EQ(ended, expected);
    fin_signals_close(&set);
    fin_waitset_close(w);
    for (fin_chan *end : {a, b, c, d})
        CHECK_EQ(fin_chan_close(end), 0);
    fin_chan_listener_close(l);
    for (int f : {fd[0], fd[1], listener})
        close(f);
}

int main() {
    sockets();
    fin_finish {
        fin_async_task(files());
        fin_async_task(processes());
    }
    messages();
    CHECK_EQ(ended, 7);
    cancelled(false);
    cancelled(true);
    return 0;
}
