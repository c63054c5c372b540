// SPDX-License-Identifier: BSD-2-Clause
// fin::reader, fin::writer and fin::stream: whose memory and descriptors last as long as they do, wherever they are moved.
#include <fcntl.h>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <type_traits>
#include <unistd.h>

#include <fin/bufio.hpp>
#include <fin.hpp>

#include "check.h"

static_assert(!std::is_copy_constructible_v<fin::reader> && std::is_nothrow_move_constructible_v<fin::reader>);
static_assert(!std::is_copy_constructible_v<fin::writer> && std::is_nothrow_move_assignable_v<fin::writer>);
static_assert(std::is_nothrow_move_constructible_v<fin::writer>);
static_assert(!std::is_copy_constructible_v<fin::stream> && std::is_nothrow_move_constructible_v<fin::stream>);
static_assert(!std::is_copy_assignable_v<fin::stream> && std::is_nothrow_move_assignable_v<fin::stream>);

struct point {
    int x, y;
};

static std::pair<fin::stream, fin::stream> streams(size_t size = 4096) {
    int fd[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    fin::descriptor one(fd[0]), other(fd[1]);
    return {fin::stream(std::move(one), size), fin::stream(std::move(other), size)};
}

FIN_BLOCKING static void talks() {
    auto [here, there] = streams();
    std::string_view text = "?";
    char c[8];
    size_t done;
    point p = {};
    CHECK_EQ(here.out.write("one\ntwo\r\n"), 0);
    CHECK_EQ(here.out.write(std::string("three;")), 0);
    CHECK_EQ(here.out.printf("%d,", 4), 2);
    CHECK_EQ(here.out.write_object(point{5, 6}), 0);
    CHECK_EQ(here.out.write("seven", 5, &done), 0);
    CHECK_EQ(done, 5);
    CHECK_EQ(here.out.write(""), 0);
    CHECK_EQ(there.in.try_line(text), -EAGAIN);
    CHECK(text.empty());
    CHECK_EQ(here.out.flush(), 0);
    CHECK_EQ(there.in.line(text), 0);
    CHECK(text == "one");
    CHECK_EQ(there.in.try_line(text), 0);
    CHECK(text == "two");
    CHECK_EQ(there.in.until(';', text), 0);
    CHECK(text == "three;");
    CHECK_EQ(there.in.try_until('9', text), -EAGAIN);
    CHECK_EQ(there.in.try_until(',', text), 0);
    CHECK(text == "4,");
    CHECK_EQ(there.in.read_object(p), 0);
    CHECK(p.x == 5 && p.y == 6);
    CHECK_EQ(there.in.peek(5, text), 0);
    CHECK(text == "seven");
    CHECK_EQ(there.in.take(6), -EINVAL);
    CHECK_EQ(there.in.take(1), 0);
    CHECK_EQ(there.in.read(c, 2), 2);
    CHECK_EQ(there.in.read_all(c, 2, &done), 0);
    CHECK_EQ(std::memcmp(c, "en", 2), 0);
    CHECK_EQ(here.out.write("end"), 0);
    CHECK_EQ(here.out.flush_nc(), 0);
    CHECK_EQ(shutdown(here.fd.get(), SHUT_WR), 0);
    CHECK_EQ(there.in.peek(4, text), -ENODATA);
    CHECK(text == "end");
    CHECK_EQ(there.in.try_peek(3, text), 0);
    CHECK_EQ(there.in.line_nc(text), 0);
    CHECK(text == "end");
    CHECK_EQ(there.in.line(text), -ENODATA);
    CHECK(text.empty());
    CHECK_EQ(there.in.until('x', text), -ENODATA);
    CHECK_EQ(there.in.peek(1, text), -ENODATA);
    CHECK_EQ(there.in.skip('x'), -ENODATA);
    CHECK_EQ(there.out.try_write("a"), 0);
    CHECK_EQ(there.out.try_write(std::string(4096, 'a')), -EAGAIN);
}

// Tied from the start, and after a move.
FIN_BLOCKING static void asks_and_answers() {
    auto both = streams();
    fin::stream &here = both.first, &there = both.second; // no bindings, which C++17 does not capture
    fin_finish {
        fin_async {
            fin::stream moved(std::move(there));
            std::string_view line;
            while (moved.in.line(line) == 0)
                CHECK_EQ(moved.out.printf("%.*s!\n", int(line.size()), line.data()), int(line.size()) + 2);
        };
        std::string_view line;
        for (const char *word : {"a", "b"}) {
            CHECK_EQ(here.out.printf("%s\n", word), 2);
            CHECK_EQ(here.in.line(line), 0);
            CHECK(line == std::string(word) + "!");
        }
        CHECK_EQ(shutdown(here.fd.get(), SHUT_WR), 0);
        CHECK_EQ(here.in.line(line), -ENODATA); // as the other one is closed
    }
}

// The end of a writer flushes it, and that of a stream before it is closed.
FIN_BLOCKING static void ends() {
    int fd[2];
    char c[4] = "";
    CHECK_EQ(pipe(fd), 0);
    {
        fin::writer w(fd[1], 16);
        CHECK_EQ(w.write("b"), 0);
        fin::writer moved(std::move(w));
    }
    CHECK_EQ(fin_read(fd[0], c, 4), 1);
    CHECK_EQ(c[0], 'b');
    fin_finish {
        fin::writer w(fd[1]);
        CHECK_EQ(w.write("c"), 0);
        fin_cancel();
        CHECK_EQ(w.write("d"), -ECANCELED); // and c is not flushed
    }
    CHECK_EQ(write(fd[1], "d\n", 2), 2);
    fin::reader r(fd[0], 2), taken(fd[0], 2);
    std::string_view text;
    CHECK_EQ(r.peek(1, text), 0);
    taken = std::move(r);
    CHECK_EQ(taken.line(text), 0);
    CHECK(text == "d");
    close(fd[0]);
    close(fd[1]);
    auto both = streams();
    {
        fin::stream ending(std::move(both.first));
        CHECK_EQ(ending.out.write("last"), 0);
    }
    CHECK_EQ(both.second.in.line(text), 0);
    CHECK(text == "last");
    CHECK_EQ(both.second.in.line(text), -ENODATA);
    CHECK_EQ(both.second.out.write("to nobody"), 0);
    CHECK_EQ(both.second.close(), -EPIPE); // and closed
    CHECK(!both.second.fd);
    CHECK_EQ(both.second.close(), -EBADF);
}

static char much_room[1 << 16];

static void fill(int fd) {
    for (size_t size = sizeof much_room; size > 0; size /= 16)
        while (send(fd, much_room, size, MSG_DONTWAIT) > 0)
            continue;
}

// Before its end, a stream says how that goes; but does not wait for what could not be written before.
FIN_BLOCKING static void closes() {
    auto both = streams();
    std::string part(4000, 'x');
    std::string_view text;
    CHECK_EQ(both.first.out.write("last\n"), 0);
    CHECK_EQ(both.first.close(), 0);
    CHECK_EQ(both.second.in.line(text), 0);
    CHECK(text == "last");
    CHECK_EQ(both.second.in.line(text), -ENODATA);
    auto others = streams();
    int error = 0;
    fill(others.first.fd.get());
    fin_finish {
        fin_async {
            while (error == 0)
                error = others.first.out.write(part); // it waits, and there is more in the buffer
        };
        fin_cancel();
    }
    CHECK_EQ(error, -ECANCELED);
    bool late = fin::timeout(10 * FIN_S, [&](fin::scope &) { error = others.first.close(); });
    CHECK(!late);
    CHECK_EQ(error, -ECANCELED); // once more
    fin_finish {
        CHECK_EQ(others.second.out.write("never flushed"), 0);
        fin_cancel();
        CHECK_EQ(others.second.close(), -ECANCELED);
        CHECK(!others.second.fd);
    }
    auto third = streams();
    int number = third.first.fd.get();
    fin_finish {
        CHECK_EQ(third.first.out.write("to no file"), 0);
        CHECK_EQ(close(number), 0);
        fin_cancel();
        CHECK_EQ(third.first.close(), -ECANCELED); // the first that was wrong
    }
}

// Once it is closed its number may be another's, who hears nothing of what the stream does then, and nor at its end.
FIN_BLOCKING static void keeps_to_itself() {
    int fd[2], other[2];
    char c;
    std::string_view text;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    for (bool flushed : {true, false}) {
        fin::stream peer{fin::descriptor(fd[0])};
        CHECK_EQ(write(fd[1], "a\nb\n", 4), 4);
        CHECK_EQ(peer.in.line(text), 0);
        fin_finish {
            CHECK_EQ(peer.out.write("some"), 0);
            if (!flushed)
                fin_cancel();
            CHECK_EQ(peer.close(), flushed ? 0 : -ECANCELED);
        }
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
        CHECK_EQ(other[0], fd[0]);
        CHECK_EQ(write(other[1], "other's\n", 8), 8);
        CHECK_EQ(peer.in.line(text), 0);
        CHECK(text == "b");
        CHECK_EQ(peer.in.line(text), -EBADF);
        CHECK_EQ(peer.out.write("stray"), 0);
        CHECK_EQ(peer.out.flush(), -EBADF);
        CHECK_EQ(peer.close(), -EBADF);
        CHECK_EQ(peer.out.write("more"), 0);
        close(fd[1]);
        fd[0] = other[0];
        fd[1] = other[1];
        CHECK_EQ(recv(fd[0], much_room, sizeof much_room, MSG_DONTWAIT), 8);
    }
    CHECK_EQ(recv(fd[1], &c, 1, MSG_DONTWAIT), -1);
    close(fd[0]);
    close(fd[1]);
}

// A flush that failed while a line came: the line is given, and who closes is told.
FIN_BLOCKING static void tells_at_last() {
    auto both = streams();
    std::string_view text;
    int error = 1;
    fill(both.first.fd.get());
    fin_finish {
        fin_async {
            CHECK_EQ(both.first.out.write("an answer\n"), 0);
            error = both.first.in.line(text);
        };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(send(both.second.fd.get(), "q\n", 2, 0), 2);
        CHECK_EQ(both.second.fd.close(), 0);
    }
    CHECK_EQ(error, 0);
    CHECK(text == "q");
    CHECK_EQ(both.first.close(), -EPIPE);
}

// What was read while the flush waited has ended the flush, which is none that has failed.
FIN_BLOCKING static void flushes_at_last() {
    auto both = streams(300000);
    std::string all(200000, 0);
    std::string_view line;
    int few = 4096;
    CHECK_EQ(setsockopt(both.first.fd.get(), SOL_SOCKET, SO_SNDBUF, &few, sizeof few), 0);
    fin_finish {
        fin_async {
            fin::stream peer(std::move(both.first));
            CHECK_EQ(peer.out.write(std::string(200000, 'x')), 0);
            std::string_view text;
            CHECK_EQ(peer.in.line(text), 0);
            CHECK(text == "quit");
        };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(both.second.out.write("quit\n"), 0);
        CHECK_EQ(both.second.out.flush(), 0);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(both.second.in.read_all(all.data(), all.size()), 0);
        CHECK_EQ(both.second.in.line(line), -ENODATA);
    }
}

// Whoever has dropped a peer that does not read is not kept by its end.
FIN_BLOCKING static void drops(bool discards) {
    auto both = streams();
    std::string much(100000, 'x');
    int error = 0;
    {
        fin::stream peer(std::move(both.first));
        while (!discards && error == 0) {
            fin_timeout(FIN_MS) {
                error = peer.out.write(much);
            }
        }
        if (discards) {
            CHECK_EQ(peer.out.write("lost"), 0);
            CHECK_EQ(peer.out.discard(), 4);
        }
    }
    CHECK_EQ(error, discards ? 0 : -ECANCELED);
    std::string_view text;
    if (discards)
        CHECK_EQ(both.second.in.line(text), -ENODATA);
    else
        CHECK_EQ(both.second.in.peek(1, text), 0); // what was sent before
}

struct odd {
    char text[11];
};

FIN_BLOCKING static void uncancelled() {
    auto both = streams(16);
    fin::stream &here = both.first, &there = both.second;
    std::string_view text;
    odd o = {"0123456789"}, got = {};
    char c[32];
    fin_finish {
        fin_cancel();
        CHECK_EQ(here.out.write_object(o), -ECANCELED);
        CHECK_EQ(here.out.write_nc("a\nb;c", 5), 0);
        CHECK_EQ(here.out.write_nc("de"), 0);
        CHECK_EQ(here.out.printf_nc("%c%c", 'f', 'g'), 2);
        CHECK_EQ(here.out.flush_nc(), 0);
        CHECK_EQ(there.in.read_object(got), -ECANCELED);
        CHECK_EQ(there.in.line_nc(text), 0);
        CHECK(text == "a");
        CHECK_EQ(there.in.until_nc(';', text), 0);
        CHECK(text == "b;");
        CHECK_EQ(there.in.peek_nc(1, text), 0);
        CHECK(text == "cdefg");
        CHECK_EQ(there.in.read_nc(c, 2), 2);
        CHECK_EQ(there.in.read_all_nc(c, 3), 0);
        CHECK_EQ(std::memcmp(c, "efg", 3), 0);
    }
    CHECK_EQ(here.out.write_object(o), 0);
    CHECK_EQ(here.out.flush(), 0);
    CHECK_EQ(there.in.read_object(got), 0);
    CHECK(std::string_view(got.text) == o.text);
    CHECK_EQ(there.in.read_object(c), -EMSGSIZE);
    CHECK_EQ(here.out.printf("%16s", ""), -EMSGSIZE);
    CHECK_EQ(here.out.write("whole?"), 0);
    CHECK_EQ(here.out.flush(), 0);
    shutdown(here.fd.get(), SHUT_WR);
    CHECK_EQ(there.in.read_object(got), -ENODATA);
    CHECK_EQ(there.in.peek(1, text), 0); // which has taken nothing
    CHECK(text == "whole?");
}

static ssize_t gives(void *, void *buffer, size_t) {
    std::memcpy(buffer, "x", 1);
    return 1;
}

FIN_BLOCKING static void others() {
    static const fin_stream_calls calls = {gives, nullptr, nullptr, nullptr, nullptr};
    fin::reader r(calls, nullptr, 8);
    std::string_view text;
    CHECK_EQ(r.peek(8, text), 0);
    CHECK(text == "xxxxxxxx");
    int refusals = 0;
    for (int i = 0; i < 4; i++) {
        try {
            if (i == 0)
                fin::reader(-1);
            else if (i == 1)
                fin::reader(0, 1);
            else if (i == 2)
                fin::writer(calls, nullptr);
            else
                fin::writer(0, 0);
        } catch (const std::system_error &e) {
            refusals += e.code().value() == EINVAL;
        }
    }
    CHECK_EQ(refusals, 4);
}

// What is assigned to ends first: it is flushed, and closed. What is tied to what is assigned stays tied.
FIN_BLOCKING static void assigned() {
    auto [here, there] = streams();
    auto [new_here, new_there] = streams();
    std::string_view text;
    fin_writer *handle = new_here.out.native_handle();
    CHECK_EQ(here.out.write("flushed\n"), 0);
    CHECK_EQ(new_here.out.write("kept\n"), 0);
    here = std::move(new_here);
    CHECK(!new_here.fd);
    CHECK(here.out.native_handle() == handle);
    CHECK_EQ(there.in.line(text), 0);
    CHECK(text == "flushed");
    CHECK_EQ(there.in.line(text), -ENODATA);
    CHECK_EQ(here.out.held(), 5);
    CHECK_EQ(new_there.out.write("answer\n"), 0);
    CHECK_EQ(new_there.out.flush(), 0);
    CHECK_EQ(here.in.line(text), 0);
    CHECK_EQ(here.out.held(), 0); // it was tied
    CHECK_EQ(new_there.in.line(text), 0);
    CHECK(text == "kept");
    fin::writer first(here.fd.get(), 10), second(here.fd.get(), 20);
    CHECK_EQ(first.write("1\n"), 0);
    CHECK_EQ(second.write("2\n"), 0);
    first = std::move(second);
    CHECK_EQ(new_there.in.line(text), 0);
    CHECK(text == "1");
    CHECK_EQ(first.flush(), 0);
    CHECK_EQ(new_there.in.line(text), 0);
    CHECK(text == "2");
}

// The end of what one end writes; and what a writer says of itself.
FIN_BLOCKING static void says_the_end() {
    auto [here, there] = streams(16);
    std::string_view text;
    size_t done = 7;
    point p{1, 2};
    CHECK_EQ(here.out.write("ab;", &done), 0);
    CHECK_EQ(done, 3);
    CHECK_EQ(here.out.write_nc("c;", &done), 0);
    CHECK_EQ(done, 2);
    CHECK_EQ(here.out.write_object(p, &done), 0);
    CHECK_EQ(done, sizeof p);
    CHECK_EQ(here.out.held(), 5 + sizeof p);
    CHECK_EQ(here.shutdown(), 0);
    CHECK_EQ(here.out.held(), 0);
    CHECK_EQ(there.in.skip_nc(';'), 0);
    CHECK_EQ(there.in.until(';', text), 0);
    CHECK(text == "c;");
    CHECK_EQ(there.in.read_object(p), 0);
    CHECK_EQ(there.in.line(text), -ENODATA);
    CHECK_EQ(there.out.write("late\n"), 0);
    CHECK_EQ(there.close(), 0);
    CHECK_EQ(here.in.line(text), 0);
    CHECK(text == "late");
    CHECK_EQ(here.out.error(), 0);
    CHECK_EQ(here.out.write("x", &done), 0);
    CHECK_EQ(here.shutdown(), -EPIPE);
    CHECK_EQ(here.out.error(), -EPIPE);
    CHECK_EQ(here.out.held(), 1);
    int fd[2];
    CHECK_EQ(pipe(fd), 0);
    fin::descriptor unused(fd[0]);
    CHECK_EQ((fin::stream(fin::descriptor(fd[1])).shutdown()), -ENOTSOCK);
}

int main() {
    talks();
    assigned();
    says_the_end();
    asks_and_answers();
    ends();
    closes();
    keeps_to_itself();
    tells_at_last();
    flushes_at_last();
    drops(false);
    drops(true);
    uncancelled();
    others();
    return 0;
}
