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
static_assert(!std::is_copy_constructible_v<fin::stream> && std::is_nothrow_move_constructible_v<fin::stream>);

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
    CHECK_EQ(here.out.write(point{5, 6}), 0);
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
    CHECK_EQ(there.in.read_all(p), 0);
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
}

// Tied from the start, and after a move.
FIN_BLOCKING static void asks_and_answers() {
    auto [here, there] = streams();
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

// The end of an object, and what is assigned to it, flush it.
FIN_BLOCKING static void ends() {
    int fd[2];
    char c[4] = "";
    CHECK_EQ(pipe(fd), 0);
    {
        fin::writer w(fd[1], 16), other(fd[1], 16);
        CHECK_EQ(w.write("a"), 0);
        CHECK_EQ(other.write("b"), 0);
        w = std::move(other);
        CHECK_EQ(fin_read(fd[0], c, 1), 1);
        CHECK_EQ(c[0], 'a');
        fin::writer moved(std::move(w));
    }
    CHECK_EQ(fin_read(fd[0], c, 4), 1);
    CHECK_EQ(c[0], 'b');
    fin_finish {
        fin_cancel();
        fin::writer w(fd[1]);
        CHECK_EQ(w.write("c"), -ECANCELED);
    }
    CHECK_EQ(write(fd[1], "d\n", 2), 2);
    fin::reader r(fd[0], 2), taken(fd[0]);
    std::string_view text;
    CHECK_EQ(r.peek(1, text), 0);
    taken = std::move(r);
    CHECK_EQ(taken.until('\n', text), -EMSGSIZE);
    CHECK_EQ(taken.take(1), 0);
    CHECK_EQ(taken.until('\n', text), 0);
    CHECK(text == "\n");
    close(fd[0]);
    close(fd[1]);
}

static ssize_t gives(void *, void *buffer, size_t) {
    std::memcpy(buffer, "x", 1);
    return 1;
}

FIN_BLOCKING static void others() {
    static const fin_stream_calls calls = {gives, nullptr, nullptr, nullptr, nullptr};
    fin::reader r(calls, nullptr, 8);
    std::string_view text;
    CHECK_EQ(r.peek(7, text), 0);
    CHECK(text == "xxxxxxx");
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

int main() {
    talks();
    asks_and_answers();
    ends();
    others();
    return 0;
}
