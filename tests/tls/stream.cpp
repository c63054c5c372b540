// SPDX-License-Identifier: BSD-2-Clause
// fin::tls_stream: lines over TLS, and its end, with a stack and as a coroutine. Who closes it tells the peer that this was
// all; whose stream just ends does not.
#include <fin/co_tls.hpp>

#include <string>

#include "pair.h"

namespace co = fin::co;

static certificate made;
static SSL_CTX *clients, *strangers, *servers;
static int ended;

static uint64_t stacks() {
    struct fin_stats s;
    fin_stats(&s);
    return s.stacks_used;
}

struct two {
    int fd[2];
    two() { stream_pair(fd); }
    fin::descriptor take(int i) { return fin::descriptor(fd[i]); }
};

static void fill(int fd) {
    std::string many(65536, 'x');
    for (size_t size = many.size(); size > 0; size /= 16)
        while (send(fd, many.data(), size, MSG_DONTWAIT) > 0)
            continue;
}

FIN_BLOCKING static void shake(fin::tls_stream &s, fin::tls_stream &peer) {
    fin::finish([&](fin::scope &scope) {
        scope.async([&]() FIN_BLOCKING { CHECK_EQ(s.accept(), 0); });
        CHECK_EQ(peer.connect("localhost"), 0);
    });
}

// ---- with a stack

FIN_BLOCKING static void echoes(fin::tls_stream s, bool closes, int expected) {
    std::string_view line;
    CHECK_EQ(s.accept(), 0);
    while (s.in.line(line) == 0 && line != "last")
        CHECK_EQ(s.out.printf("%.*s!\n", int(line.size()), line.data()), int(line.size()) + 2);
    CHECK(line == "last");
    CHECK_EQ(s.in.line(line), expected);
    if (closes)
        CHECK_EQ(s.close(), 0);
    ended++;
}

FIN_BLOCKING static void asks(fin::tls_stream &s, int count) {
    std::string_view line;
    CHECK_EQ(s.connect("localhost"), 0);
    for (int i = 0; i < count; i++) {
        std::string expected = std::to_string(i) + "!";
        CHECK_EQ(s.out.printf("%d\n", i), int(expected.size()));
        CHECK_EQ(s.in.line(line), 0);
        CHECK(line == expected);
    }
}

// What was written comes; and that it was all, where somebody says so.
FIN_BLOCKING static void exchange(bool closes) {
    two t;
    ended = 0;
    fin::finish([&](fin::scope &scope) {
        scope.async([&]() FIN_BLOCKING {
            echoes({servers, t.take(0)}, closes, closes ? -ENODATA : -ECONNABORTED);
        });
        fin::tls_stream s(clients, t.take(1), 64);
        asks(s, 20);
        CHECK_EQ(s.out.printf("last\n"), 5);
        if (closes)
            CHECK_EQ(s.close(), 0);
    });
    CHECK_EQ(ended, 1);
}

// Once it is closed nothing is written or read by that number, and what had come is there.
FIN_BLOCKING static void closed() {
    two t, other;
    std::string_view line;
    char c;
    int number = t.fd[1];
    fin::tls_stream s(clients, t.take(1)), peer(servers, t.take(0));
    fin::finish([&](fin::scope &scope) {
        scope.async([&]() FIN_BLOCKING { CHECK_EQ(peer.accept(), 0); });
        CHECK_EQ(s.connect("localhost"), 0);
    });
    CHECK_EQ(peer.out.write("one\ntwo\n"), 0);
    CHECK_EQ(peer.close(), 0);
    CHECK_EQ(s.in.line(line), 0);
    CHECK(line == "one");
    CHECK_EQ(s.close(), 0);
    CHECK(!s.fd);
    CHECK_EQ(dup2(other.fd[1], number), number);
    CHECK_EQ(s.out.write("stray"), 0);
    CHECK_EQ(s.out.flush(), -EBADF);
    CHECK_EQ(s.in.line(line), 0);
    CHECK(line == "two");
    CHECK_EQ(s.in.line(line), -EBADF);
    CHECK_EQ(s.accept(), -EBADF);
    CHECK_EQ(s.accept_nc(), -EBADF);
    CHECK_EQ(s.connect("localhost"), -EBADF);
    CHECK_EQ(s.connect_nc("localhost"), -EBADF);
    CHECK_EQ(s.close(), -EBADF);
    CHECK_EQ(recv(other.fd[0], &c, 1, MSG_DONTWAIT), -1);
    for (int fd : {number, other.fd[0], other.fd[1]})
        close(fd);
}

FIN_BLOCKING static void not_connected() {
    two t;
    fin::tls_stream quiet(clients, t.take(0)), writes(clients, t.take(1));
    CHECK_EQ(quiet.close(), 0);
    CHECK_EQ(writes.out.write("x"), 0);
    CHECK_EQ(writes.close(), -ENOTCONN);
    CHECK_EQ(writes.close(), -EBADF);
}

// The peer went away in the handshake, and what OpenSSL had to say cannot be sent: nothing was lost.
FIN_BLOCKING static void nobody_there(bool by_coroutine) {
    two t;
    fin::tls_stream s(servers, t.take(0));
    close(t.fd[1]);
    CHECK_EQ(s.accept(), -ECONNABORTED);
    int error = 1;
    if (by_coroutine)
        fin::finish([&](fin::scope &scope) { scope.async([&]() -> fin::task<> { error = co_await co::close(s); }); });
    else
        error = s.close();
    CHECK_EQ(error, 0);
}

// The end of what one end writes; what the other says comes after that.
FIN_BLOCKING static void half_closed() {
    two t;
    fin::tls_stream s(servers, t.take(0)), peer(clients, t.take(1));
    fin::finish([&](fin::scope &scope) {
        scope.async([&]() -> fin::task<> {
            std::string_view line;
            CHECK_EQ(co_await co::accept(s), 0);
            CHECK_EQ(co_await co::write(s.out, "all\n"), 0);
            CHECK_EQ(co_await co::shutdown(s), 0);
            CHECK_EQ(co_await co::line(s.in, line), 0);
            CHECK(line == "late");
            CHECK_EQ(co_await co::line(s.in, line), -ENODATA);
            CHECK_EQ(co_await co::close(s), 0);
            CHECK_EQ(co_await co::shutdown(s), -EBADF);
            ended++;
        });
        std::string_view line;
        CHECK_EQ(peer.connect("localhost"), 0);
        CHECK_EQ(peer.in.line(line), 0);
        CHECK(line == "all");
        CHECK_EQ(peer.in.line(line), -ENODATA);
        CHECK_EQ(peer.out.write("late\n"), 0);
        CHECK_EQ(peer.shutdown(), 0);
        CHECK_EQ(peer.shutdown(), 0);
        CHECK_EQ(peer.close(), 0);
        CHECK_EQ(peer.shutdown(), -EBADF);
    });
    CHECK_EQ(ended, 1);
}

// What is assigned to ends first, as at its end.
FIN_BLOCKING static void assigned() {
    two t, other;
    std::string_view line;
    fin::tls_stream s(servers, t.take(0)), peer(clients, t.take(1));
    shake(s, peer);
    CHECK_EQ(s.out.write("flushed\n"), 0);
    s = fin::tls_stream(servers, other.take(0));
    CHECK_EQ(s.fd.get(), other.fd[0]);
    CHECK_EQ(peer.in.line(line), 0);
    CHECK(line == "flushed");
    CHECK_EQ(peer.in.line(line), -ECONNABORTED);
    fin::tls_stream there(clients, other.take(1));
    shake(s, there);
    CHECK_EQ(s.out.write("more\n"), 0);
    CHECK_EQ(s.shutdown(), 0);
    CHECK_EQ(there.in.line(line), 0);
    CHECK(line == "more");
}

// The client says all, and goes, before the server has sent its tickets: what it said is there.
FIN_BLOCKING static void short_lived(bool by_coroutine) {
    two t;
    fin::tls_stream s(servers, t.take(0)), peer(clients, t.take(1));
    std::string_view line;
    fin::finish([&](fin::scope &scope) {
        if (by_coroutine)
            scope.async([&]() -> fin::task<> {
                CHECK_EQ(co_await co::accept(s), 0);
                CHECK_EQ(co_await co::line(s.in, line), 0);
            });
        else
            scope.async([&]() FIN_BLOCKING {
                CHECK_EQ(s.accept(), 0);
                CHECK_EQ(s.in.line(line), 0);
            });
        CHECK_EQ(peer.connect("localhost"), 0);
        CHECK_EQ(peer.out.write("hello\n"), 0);
        CHECK_EQ(peer.close(), 0);
    });
    CHECK(line == "hello");
    CHECK_EQ(s.in.line(line), -ENODATA);
    CHECK_EQ(s.close(), 0);
}

// Gone without a word, where nothing was to be written, or something was.
FIN_BLOCKING static void peer_vanishes(bool writes) {
    two t;
    fin::tls_stream s(servers, t.take(0)), peer(clients, t.take(1));
    std::string_view line;
    shake(s, peer);
    peer.fd = fin::descriptor();
    int error = s.in.line(line); // it had not read the tickets, or it had
    CHECK(error == -ECONNRESET || error == -ECONNABORTED);
    if (writes)
        CHECK_EQ(s.out.write("lost"), 0);
    CHECK_EQ(s.close(), writes ? -EPIPE : 0);
    CHECK_EQ(s.close(), -EBADF);
}

// Names are compared; a cancelled block does not hold up what is not cancelled; sizes are as asked for.
FIN_BLOCKING static void handshakes() {
    for (int i = 0; i < 4; i++) {
        two t;
        fin::tls_stream s(servers, t.take(0), 64), peer(clients, t.take(1), 64);
        const char *host = i % 2 ? "elsewhere" : "localhost";
        int expected = i % 2 ? -EKEYREJECTED : 0, error = 1;
        fin::finish([&](fin::scope &scope) {
            scope.cancel();
            CHECK_EQ(s.accept(), -ECANCELED);
            CHECK_EQ(peer.connect(host), -ECANCELED);
            scope.async([&]() -> fin::task<> {
                CHECK_EQ(co_await co::accept(s), -ECANCELED);
                CHECK_EQ(co_await co::connect(peer, host), -ECANCELED);
            });
            if (i >= 2)
                return;
            scope.async([&]() FIN_BLOCKING { (void)s.accept_nc(); });
            error = peer.connect_nc(host);
        });
        if (i >= 2)
            fin::finish([&](fin::scope &scope) {
                scope.async([&]() -> fin::task<> { error = co_await co::connect(peer, host); });
                scope.async([&]() -> fin::task<> { (void)co_await co::accept(s); });
            });
        CHECK_EQ(error, expected);
        std::string_view bytes;
        std::string much(65, 'x');
        CHECK_EQ(peer.out.try_write(much), -EMSGSIZE);
        CHECK_EQ(peer.in.try_peek(65, bytes), -EMSGSIZE);
        CHECK_EQ(peer.out.try_write(much.substr(1)), 0);
        CHECK_EQ(peer.out.discard(), 64);
    }
}

// The server hears why: it is told at the latest at the end.
FIN_BLOCKING static void refused() {
    two t;
    fin::finish([&](fin::scope &scope) {
        scope.async([&]() FIN_BLOCKING {
            fin::tls_stream s(servers, t.take(0));
            std::string_view line;
            int r = s.accept();
            if (r == 0) // TLS 1.3: the client goes on later
                r = s.in.line(line);
            CHECK_EQ(r, -EPROTO);
            CHECK(std::strstr(s.error(), "alert") != nullptr);
        });
        fin::tls_stream s(strangers, t.take(1));
        CHECK_EQ(s.connect("localhost"), -EKEYREJECTED);
        CHECK(std::strstr(s.error(), "certificate") != nullptr);
        CHECK_EQ(s.close(), 0); // nothing was lost
        CHECK(!s.fd);
        CHECK_EQ(SSL_is_server(s.ssl()), 0);
        CHECK(fin_tls_ssl(s.native_handle()) == s.ssl());
    });
}

// A constructor that fails has closed the socket.
FIN_BLOCKING static void not_made() {
    two t;
    char c;
    bool thrown = false;
    try {
        fin::tls_stream s(clients, t.take(0), 1);
    } catch (const std::system_error &e) {
        thrown = e.code() == std::errc::invalid_argument;
    }
    CHECK(thrown);
    int refusals = 0;
    for (bool has_context : {false, true}) {
        try {
            fin::tls_stream s(has_context ? clients : nullptr, has_context ? fin::descriptor() : fin::descriptor(dup(0)));
        } catch (const std::system_error &e) {
            refusals += e.code() == std::errc::invalid_argument;
        }
    }
    CHECK_EQ(refusals, 2);
    CHECK_EQ(recv(t.fd[1], &c, 1, 0), 0);
    close(t.fd[1]);
}

// A peer that does not read: cancelled, it is closed all the same.
FIN_BLOCKING static void closes_in_vain(bool by_coroutine) {
    two t;
    int fd = t.fd[0];
    fin::tls_stream s(servers, t.take(0)), peer(clients, t.take(1));
    shake(s, peer);
    fill(fd);
    CHECK_EQ(s.out.write("pending"), 0);
    fin::finish([&](fin::scope &scope) {
        if (by_coroutine)
            scope.async([&]() -> fin::task<> {
                CHECK_EQ(co_await co::close(s), -ECANCELED);
                ended++;
            });
        else
            scope.async([&]() FIN_BLOCKING {
                CHECK_EQ(s.close(), -ECANCELED);
                ended++;
            });
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        scope.cancel();
    });
    CHECK(!s.fd);
    char c;
    two other; // what was on its way goes nowhere
    CHECK_EQ(other.fd[0], fd);
    CHECK_EQ(s.close(), -EBADF);
    CHECK_EQ(s.shutdown(), -EBADF);
    CHECK_EQ(recv(other.fd[1], &c, 1, MSG_DONTWAIT), -1);
    for (int number : other.fd)
        close(number);
}

// ---- as a coroutine

static fin::task<> answers(fin::tls_stream s) {
    std::string_view line;
    CHECK_EQ(co_await co::accept(s), 0);
    while (co_await co::line(s.in, line) == 0) {
        CHECK_EQ(co_await co::write(s.out, line), 0);
        CHECK_EQ(co_await co::write(s.out, "!\n"), 0);
    }
    CHECK_EQ(co_await co::line(s.in, line), -ENODATA);
    CHECK_EQ(co_await co::close(s), 0);
    CHECK_EQ(co_await co::close(s), -EBADF);
    ended++;
}

static fin::task<> asks_and_closes(fin::tls_stream s) {
    std::string_view line;
    CHECK_EQ(co_await co::connect(s, "localhost"), 0);
    for (int i = 0; i < 20; i++) {
        std::string text = std::to_string(i);
        CHECK_EQ(co_await co::write(s.out, text), 0);
        CHECK_EQ(co_await co::write(s.out, "\n"), 0);
        CHECK_EQ(co_await co::line(s.in, line), 0);
        CHECK(line == text + "!");
    }
    CHECK_EQ(co_await co::sleep(5 * FIN_MS), 0);
    CHECK_EQ(co_await co::close(s), 0);
    ended++;
}

// Idle connections have no stacks.
FIN_BLOCKING static void many() {
    ended = 0;
    fin::finish([&](fin::scope &scope) {
        for (int i = 0; i < 10; i++) {
            two t;
            scope.async(answers({servers, t.take(0), 64}));
            scope.async(asks_and_closes({clients, t.take(1), 64}));
        }
        CHECK_EQ(fin_sleep(2 * FIN_MS), 0);
        while (stacks() > 1)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
    });
    CHECK_EQ(ended, 20);
}

int main() {
    CHECK(certificate_make(&made));
    clients = client_context(&made);
    strangers = client_context(nullptr);
    servers = server_context(&made);
    exchange(true);
    exchange(false);
    closed();
    not_connected();
    refused();
    not_made();
    nobody_there(false);
    nobody_there(true);
    ended = 0;
    half_closed();
    assigned();
    for (bool either : {false, true}) {
        short_lived(either);
        peer_vanishes(either);
    }
    handshakes();
    many();
    ended = 0;
    closes_in_vain(false);
    closes_in_vain(true);
    CHECK_EQ(ended, 2);
    for (SSL_CTX *c : {clients, strangers, servers})
        SSL_CTX_free(c);
    certificate_free(&made);
}
