// SPDX-License-Identifier: BSD-2-Clause
// Coroutines wait for messages with addresses and headers, signals, child processes, clients of a channel and events of a
// waitset, each for one that comes; and a cancel ends each of these waits, of which nothing is lost.
#include <csignal>
#include <cstring>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fin/coro.hpp>

#include "check.h"

namespace co = fin::co;

static int udp[2], came, cancelled;
static int input; // of the child, which ends when it is closed
static sockaddr_in addresses[2];
static fin_signals signals;
static fin_process child;
static fin_chan_listener *listener;
static fin_chan *ends[2];
static fin_waitset *set;

// What the wait gave, where it has not been cancelled.
static bool comes(int result) {
    CHECK(result >= 0 || result == -ECANCELED);
    ++(result >= 0 ? came : cancelled);
    return result >= 0;
}

static fin::task<> takes_from() {
    char text[8];
    sockaddr_in from;
    socklen_t size = sizeof from;
    if (!comes(co_await co::recvfrom(udp[0], text, sizeof text, 0, reinterpret_cast<sockaddr *>(&from), &size)))
        co_return;
    CHECK(memcmp(text, "datagram", 8) == 0);
    CHECK_EQ(from.sin_port, addresses[1].sin_port);
}

static fin::task<> takes_message() {
    char half[2][4];
    iovec parts[] = {{half[0], 4}, {half[1], 4}};
    msghdr m{};
    m.msg_iov = parts;
    m.msg_iovlen = 2;
    if (comes(co_await co::recvmsg(udp[1], m)))
        CHECK(memcmp(half[0], "data", 4) == 0 && memcmp(half[1], "gram", 4) == 0);
}

static fin::task<> sends_both() {
    static char text[] = "datagram";
    iovec all = {text, 8};
    msghdr m{};
    m.msg_name = &addresses[1];
    m.msg_namelen = sizeof addresses[1];
    m.msg_iov = &all;
    m.msg_iovlen = 1;
    CHECK_EQ(co_await co::sendto(udp[1], text, 8, 0, reinterpret_cast<sockaddr *>(&addresses[0]), sizeof addresses[0]), 8);
    CHECK_EQ(co_await co::sendmsg(udp[0], m), 8);
}

static fin::task<> takes_signal() {
    fin_signal_info info;
    if (comes(co_await co::next(signals, info)))
        CHECK_EQ(info.signal, SIGUSR1);
}

static fin::task<> takes_child() {
    int status;
    if (comes(co_await co::wait(child, status)))
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static fin::task<> takes_client() {
    fin_chan *client;
    if (comes(co_await co::accept(listener, client)))
        CHECK_EQ(fin_chan_close(client), 0);
}

static fin::task<> takes_event() {
    void *arg;
    char c;
    if (!comes(co_await co::next(set, arg)))
        co_return;
    CHECK(arg == &ends);
    CHECK_EQ(fin_chan_try_recv(ends[0], &c, 1), 1);
}

enum { WAITS = 6 };
template <class Add> static void add_all(Add add) {
    add(takes_from());
    add(takes_message());
    add(takes_signal());
    add(takes_child());
    add(takes_client());
    add(takes_event());
}

static std::string name() { return "fin-test-events-" + std::to_string(getpid()); }

static void open_all() {
    for (int i = 0; i < 2; i++) {
        socklen_t size = sizeof addresses[i];
        addresses[i] = {};
        addresses[i].sin_family = AF_INET;
        addresses[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        CHECK((udp[i] = socket(AF_INET, SOCK_DGRAM, 0)) >= 0);
        CHECK_EQ(bind(udp[i], reinterpret_cast<sockaddr *>(&addresses[i]), size), 0);
        CHECK_EQ(getsockname(udp[i], reinterpret_cast<sockaddr *>(&addresses[i]), &size), 0);
    }
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    CHECK_EQ(fin_signals_open(&signals, &one), 0);
    static const char *const argv[] = {"sh", "-c", "read x; exit 3", nullptr};
    int pair[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    const fin_spawn_fd fds[] = {{0, pair[0]}};
    struct fin_spawn how {};
    how.path = "/bin/sh";
    how.argv = argv;
    how.fds = fds;
    how.fd_count = 1;
    CHECK_EQ(fin_spawn_nc(&child, &how), 0);
    close(pair[0]);
    input = pair[1];
    CHECK_EQ(fin_chan_listen(&listener, name().c_str(), nullptr), 0);
    CHECK_EQ(fin_chan_pair(&ends[0], &ends[1], nullptr), 0);
    CHECK_EQ(fin_waitset_new(&set), 0);
    CHECK_EQ(fin_waitset_add(set, ends[0], nullptr, &ends), 0);
}

static void let_all_come() {
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(fin_chan_send(ends[1], "x", 1), 0);
    fin_chan *client;
    CHECK_EQ(fin_chan_connect(&client, name().c_str(), 0), 0);
    CHECK_EQ(fin_chan_close(client), 0);
}

int main() {
    alarm(50);
    open_all();
    fin_finish {
        add_all([&](fin::task<> t) { fin_async_task(std::move(t)); });
        CHECK_EQ(fin_sleep(2 * FIN_MS), 0);
        CHECK_EQ(came, 0);
        fin_cancel();
    }
    CHECK_EQ(came, 0);
    CHECK_EQ(cancelled, +WAITS);
    fin_finish {
        add_all([&](fin::task<> t) { fin_async_task(std::move(t)); });
        fin_yield();
        fin_async_task(sends_both());
        let_all_come();
        close(input);
    }
    CHECK_EQ(came, +WAITS);
    fin_waitset_close(set);
    CHECK_EQ(fin_chan_close(ends[0]), 0);
    CHECK_EQ(fin_chan_close(ends[1]), 0);
    fin_chan_listener_close(listener);
    fin_signals_close(&signals);
    return 0;
}
