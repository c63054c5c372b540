// SPDX-License-Identifier: BSD-2-Clause
// Coroutines wait for lines and pieces, and flush, without a stack, and are told what the calls with one would return.
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include <fin/co_bufio.hpp>

#include "check.h"

namespace co = fin::co;

static int ended, waits;

static uint64_t stacks() {
    struct fin_stats s;
    fin_stats(&s);
    return s.stacks_used;
}

static fin::task<> answers(fin::stream peer) {
    std::string_view text;
    while (co_await co::line(peer.in, text) == 0) {
        CHECK_EQ(peer.out.printf("%.*s!\n", int(text.size()), text.data()), int(text.size()) + 2);
        CHECK_EQ(co_await co::flush(peer.out), 0);
    }
    CHECK(text.empty());
    ended++;
}

static fin::task<> asks(fin::stream peer) {
    std::string_view text;
    for (int i = 0; i < 100; i++) {
        std::string word = std::to_string(i);
        CHECK_EQ(peer.out.printf("%s\n", word.c_str()), int(word.size()) + 1); // tied
        CHECK_EQ(co_await co::peek(peer.in, word.size() + 2, text), 0);
        CHECK(text == word + "!\n");
        CHECK_EQ(co_await co::until(peer.in, '!', text), 0);
        CHECK(text == word + "!");
        CHECK_EQ(co_await co::line(peer.in, text), 0);
        CHECK(text.empty());
    }
    CHECK_EQ(shutdown(peer.fd.get(), SHUT_WR), 0);
    CHECK_EQ(co_await co::line(peer.in, text), -ENODATA);
    CHECK_EQ(co_await co::until(peer.in, '!', text), -ENODATA);
    CHECK_EQ(co_await co::peek(peer.in, 1, text), -ENODATA);
    ended++;
}

// More than the writer has room for, and the socket; a peer that reads late.
static fin::task<> writes_much(fin::stream peer) {
    std::string much(300000, 'x');
    CHECK_EQ(co_await co::write(peer.out, "few "), 0);
    CHECK_EQ(co_await co::write(peer.out, much), 0);
    CHECK_EQ(co_await co::write(peer.out, "\n"), 0);
    CHECK_EQ(co_await co::flush(peer.out), 0);
    ended++;
}

static void fill(int fd) {
    std::string many(65536, 'x');
    for (size_t size = many.size(); size > 0; size /= 16)
        while (send(fd, many.data(), size, MSG_DONTWAIT) > 0)
            continue;
}

// Its end, before it: all that was written comes, and then the end of the stream. What could not be written before is not
// waited for; what cannot be now is told.
static fin::task<> closes(fin::stream peer) {
    CHECK_EQ(co_await co::write(peer.out, "last\n"), 0);
    CHECK_EQ(co_await co::close(peer), 0);
    CHECK(!peer.fd);
    CHECK_EQ(co_await co::close(peer), -EBADF);
    ended++;
}

static fin::task<> writes_more(fin::writer &w, int &error) {
    std::string part(5000, 'x');
    error = co_await co::write(w, part); // fills the buffer, and has to write that
}

static fin::task<> closes_in_vain(fin::stream peer) {
    std::string part(4000, 'x');
    fin::mutex m;
    int error = 0, other[2], number = peer.fd.get();
    fill(number);
    CHECK_EQ(co_await co::write(peer.out, "some"), 0);
    {
        co::finish block;
        block.async(writes_more(peer.out, error));
        co_await co::yield(); // it waits, or is about to
        block.cancel();
        CHECK(!co_await block.end());
    }
    CHECK_EQ(error, -ECANCELED);
    {
        std::lock_guard<fin::mutex> hold(m); // keeps the coroutine from waiting
        CHECK_EQ(co_await co::close(peer), -EBUSY);
        CHECK(peer.fd);
    }
    CHECK_EQ(co_await co::close(peer), -ECANCELED); // once more
    CHECK(!peer.fd);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
    CHECK_EQ(other[0], number);
    CHECK_EQ(co_await co::write(peer.out, "stray"), 0);
    CHECK_EQ(co_await co::flush(peer.out), -EBADF);
    CHECK_EQ(recv(other[1], part.data(), part.size(), MSG_DONTWAIT), -1);
    close(other[0]);
    close(other[1]);
    ended++;
}

// The peer does not read.
static fin::task<> closes_slowly(fin::stream peer) {
    fill(peer.fd.get());
    CHECK_EQ(co_await co::write(peer.out, "late"), 0);
    CHECK_EQ(co_await co::close(peer), -ECANCELED);
    ended++;
}

// It cannot wait: nothing is lost.
static fin::task<> closes_after_all(fin::stream peer) {
    fin::mutex m;
    CHECK_EQ(co_await co::write(peer.out, "important\n"), 0);
    for (bool again : {false, true}) {
        std::lock_guard<fin::mutex> hold(m);
        CHECK_EQ(co_await co::close(peer), -EBUSY);
        CHECK(peer.fd);
        if (again)
            CHECK_EQ(co_await co::flush(peer.out), -EBUSY);
    }
    CHECK_EQ(co_await co::close(peer), 0);
    ended++;
}

// One writer for two, who both write and flush all the time: each goes on, and what one call writes lies together.
static fin::task<> writes_lines(fin::writer &w, char c, size_t size) {
    std::string line(size, c);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(co_await co::write(w, line), 0);
        CHECK_EQ(co_await co::flush(w), 0);
    }
    ended++;
}

FIN_BLOCKING static void two_write() {
    int fd[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    fin::reader r(fd[1], 1000);
    fin::writer w(fd[0], 64);
    fin::finish([&](fin::scope &s) {
        s.async(writes_lines(w, 'a', 30));
        s.async(writes_lines(w, 'b', 200));
        std::string_view bytes;
        for (int i = 0, a = 0; i < 200; i++) {
            CHECK_EQ(r.peek(1, bytes), 0);
            bool is_a = bytes[0] == 'a';
            a += is_a;
            CHECK(a <= 100);
            size_t size = is_a ? 30 : 200;
            CHECK_EQ(r.peek(size, bytes), 0);
            CHECK(bytes.substr(0, size) == std::string(size, is_a ? 'a' : 'b'));
            CHECK_EQ(r.take(size), 0);
        }
    });
    close(fd[0]);
    close(fd[1]);
}

// What is taken in other ways; a number of things, and what remains of a piece.
struct point {
    int x, y;
};

static fin::task<> sends_many(fin::stream peer) {
    point p{1, 2};
    size_t done = 7;
    std::string much(20000, 'm');
    CHECK_EQ(co_await co::write(peer.out, "passed over;"), 0);
    CHECK_EQ(co_await co::write_object(peer.out, p), 0);
    CHECK_EQ(co_await co::write(peer.out, much.data(), much.size(), &done), 0);
    CHECK_EQ(done, much.size());
    CHECK_EQ(co_await co::write(peer.out, "four"), 0);
    CHECK_EQ(co_await co::close(peer), 0);
    ended++;
}

static fin::task<> takes_many(fin::stream peer) {
    point p{0, 0};
    size_t done = 7;
    std::string much(20000, 0);
    char few[8];
    CHECK_EQ(co_await co::skip(peer.in, ';'), 0);
    CHECK_EQ(co_await co::read_object(peer.in, p), 0);
    CHECK(p.x == 1 && p.y == 2);
    CHECK_EQ(co_await co::read_all(peer.in, much.data(), much.size(), &done), 0);
    CHECK_EQ(done, much.size());
    CHECK(much == std::string(20000, 'm'));
    CHECK_EQ(co_await co::read(peer.in, few, 0), 0);
    CHECK_EQ(co_await co::read_object(peer.in, p), -ENODATA); // and takes nothing
    CHECK_EQ(co_await co::read(peer.in, few, 1), 1);
    CHECK_EQ(few[0], 'f');
    CHECK_EQ(co_await co::read_all(peer.in, few, sizeof few, &done), -ENODATA);
    CHECK_EQ(done, 3);
    CHECK(std::string_view(few, 3) == "our");
    CHECK_EQ(co_await co::read(peer.in, few, sizeof few), 0);
    CHECK_EQ(co_await co::skip(peer.in, ';'), -ENODATA);
    ended++;
}

// Of a call that is cancelled, and so that its block is, what it says that it has transferred is; the rest comes later.
static fin::task<> reads_in_part(fin::reader &r, char *to, size_t size, size_t &done) {
    CHECK_EQ(co_await co::read_all(r, to, size, &done), -ECANCELED);
    size_t none = 7;
    CHECK_EQ(co_await co::read_all(r, to, size, &none), -ECANCELED);
    CHECK_EQ(none, 0);
    CHECK_EQ(co_await co::read(r, to, size), -ECANCELED);
    CHECK_EQ(co_await co::skip(r, 'x'), -ECANCELED);
    ended++;
}

// It comes in two pieces.
static fin::task<> takes_point(fin::reader &r) {
    point p{0, 0};
    CHECK_EQ(co_await co::read_object(r, p), 0);
    CHECK(p.x == 3 && p.y == 0x7f000004);
    ended++;
}

FIN_BLOCKING static void in_pieces() {
    int fd[2];
    point p{3, 0x7f000004};
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    fin::reader r(fd[1]);
    fin::finish([&](fin::scope &s) {
        s.async(takes_point(r));
        CHECK_EQ(send(fd[0], &p, sizeof p - 1, 0), sizeof p - 1);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(send(fd[0], reinterpret_cast<char *>(&p) + sizeof p - 1, 1, 0), 1);
    });
    close(fd[0]);
    close(fd[1]);
}

// How much was transferred is 0 also where the coroutine cannot wait.
static fin::task<> in_a_block(fin::reader &r, fin::writer &w) {
    char c;
    size_t done = 7;
    fin::mutex m;
    std::lock_guard<fin::mutex> hold(m);
    for (int i = 0; i < 4; i++, done = 7) {
        int error = i == 0   ? co_await co::read_all(r, &c, 1, &done)
                    : i == 1 ? co_await co::write(w, "x", &done)
                    : i == 2 ? co_await co::recv_all(0, &c, 1, 0, &done)
                             : co_await co::write_all(0, &c, 1, &done);
        CHECK_EQ(error, -EBUSY);
        CHECK_EQ(done, 0);
    }
    ended++;
}

static fin::task<> writes_in_part(fin::writer &w, const std::string &much, size_t &done) {
    CHECK_EQ(co_await co::write(w, much.data(), much.size(), &done), -ECANCELED);
    ended++;
}

FIN_BLOCKING static void in_part() {
    int fd[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    fin::reader r(fd[1], 100);
    fin::writer w(fd[0], 100);
    std::string much(3000000, 0), got(much.size(), 0);
    for (size_t i = 0; i < much.size(); i++)
        much[i] = char(i * 7 / 3);
    size_t done = 0, taken = 0;
    fin::finish([&](fin::scope &s) {
        s.async(writes_in_part(w, much, taken));
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(stacks(), 1);
        s.cancel();
    });
    CHECK(taken > 0 && taken < much.size());
    fin::finish([&](fin::scope &s) {
        s.async(reads_in_part(r, got.data(), got.size(), done));
        CHECK_EQ(w.flush(), 0);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(stacks(), 1);
        s.cancel();
    });
    CHECK_EQ(done, taken);
    CHECK(got.compare(0, done, much, 0, done) == 0);
    close(fd[0]);
    close(fd[1]);
}

static fin::task<> closes_late(fin::stream peer) {
    CHECK_EQ(co_await co::write(peer.out, "never flushed"), 0);
    CHECK_EQ(co_await co::sleep(FIN_S), -ECANCELED);
    CHECK_EQ(co_await co::close(peer), -ECANCELED);
    CHECK(!peer.fd);
    ended++;
}

static fin::task<> writes_in_vain(fin::writer &w) {
    std::string much(3000000, 'x');
    CHECK_EQ(co_await co::write(w, much), -ECANCELED);
    ended++;
}

static fin::task<> is_cancelled(fin::reader &r) {
    std::string_view text;
    int expected = waits++ == 0 ? -ECANCELED : -EBUSY;
    CHECK_EQ(co_await co::line(r, text), expected);
    ended++;
}

// A stream ends, in a block that may be cancelled when it has to wait; what comes of it begins with that.
static void ends(fin::task<> (*how)(fin::stream), std::string_view expected, bool is_cancelled = false) {
    int fd[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    fin::descriptor other(fd[1]);
    fin::finish([&](fin::scope &s) {
        s.async(how(fin::stream{fin::descriptor(fd[0])}));
        if (!is_cancelled)
            return;
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(stacks(), 1);
        s.cancel();
    });
    std::string all(1 << 22, 0);
    size_t done = 0;
    CHECK_EQ(fin_read_all(other.get(), all.data(), all.size(), &done), -ENODATA);
    CHECK(all.compare(0, expected.size(), expected) == 0);
    CHECK(expected == "x" || done == expected.size());
}

int main() {
    int fd[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    fin::stream here{fin::descriptor(fd[0])}, there{fin::descriptor(fd[1])};
    fin::finish([&](fin::scope &s) {
        s.async(answers(std::move(there)));
        s.async(asks(std::move(here)));
    });
    CHECK_EQ(ended, 2);

    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    fin::reader r(fd[0]);
    CHECK_EQ(write(fd[1], "ab", 2), 2);
    fin::finish([&](fin::scope &s) {
        s.async(is_cancelled(r));
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(stacks(), 1);
        s.async(is_cancelled(r));
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(ended, 3);
        s.cancel();
    });
    CHECK_EQ(ended, 4);
    CHECK_EQ(write(fd[1], "c\n", 2), 2);
    fin::writer w(fd[0]);
    fin::finish([&](fin::scope &s) {
        s.async(writes_in_vain(w));
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(stacks(), 1);
        s.cancel();
    });
    CHECK_EQ(ended, 5);
    std::string_view text;
    CHECK_EQ(r.line(text), 0);
    CHECK(text == "abc");
    close(fd[0]);
    close(fd[1]);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    fin::stream from{fin::descriptor(fd[0])}, into{fin::descriptor(fd[1])};
    fin::finish([&](fin::scope &s) {
        s.async(writes_much(std::move(from)));
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(stacks(), 1);
        std::string all(4 + 300000 + 1, 0);
        CHECK_EQ(into.in.read_all(all.data(), all.size()), 0);
        CHECK(all == "few " + std::string(300000, 'x') + "\n");
    });
    CHECK_EQ(ended, 6);
    ends(closes, "last\n");
    ends(closes_in_vain, "x");
    ends(closes_late, "", true);
    ends(closes_slowly, "x", true);
    ends(closes_after_all, "important\n");
    two_write();
    CHECK_EQ(ended, 13);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    fin::finish([&](fin::scope &s) {
        s.async(takes_many(fin::stream{fin::descriptor(fd[0]), 64}));
        s.async(sends_many(fin::stream{fin::descriptor(fd[1]), 64}));
    });
    CHECK_EQ(ended, 15);
    in_part();
    CHECK_EQ(ended, 17);
    in_pieces();
    fin::reader unread(0);
    fin::writer unwritten(1);
    fin::finish(in_a_block(unread, unwritten));
    CHECK_EQ(ended, 19);
    return 0;
}
