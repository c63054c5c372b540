// SPDX-License-Identifier: BSD-2-Clause
// Messages of any length are received into strings and vectors, which get as many elements as came; what is too long for one
// stays until there is room, also where there is no memory for it.
#include <cstring>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include <fin.hpp>

#include "check.h"

namespace {

std::string text(size_t n) {
    std::string s(n, ' ');
    for (size_t i = 0; i < n; i++)
        s[i] = static_cast<char>('a' + (i * 7 + n) % 26);
    return s;
}

const size_t lengths[] = {0, 1, 15, 63, 64, 65, 5, 127, 128, 129, 1000, 0, 4096};

void strings() {
    auto [a, b] = fin::chan::pair();
    std::string s = "what was there";
    CHECK_EQ(b.try_recv(s), -EAGAIN);
    CHECK(s.empty());
    for (size_t n : lengths) {
        CHECK(n <= a.most());
        for (int i = 0; i < 3; i++)
            CHECK_EQ(a.send(text(n)), 0);
        CHECK_EQ(b.recv(s), 0);
        CHECK(s == text(n));
        CHECK_EQ(b.recv_nc(s), 0);
        CHECK(s == text(n));
        std::string fresh;
        CHECK_EQ(b.try_recv(fresh), 0);
        CHECK(fresh == text(n));
    }
    a = fin::chan();
    CHECK_EQ(b.recv(s), -ESHUTDOWN);
    CHECK(s.empty());
}

void elements() {
    auto [a, b] = fin::chan::pair();
    std::vector<int> in = {1, 2, 3}, out;
    CHECK_EQ(a.send(in), 0);
    CHECK_EQ(b.recv(out), 0);
    CHECK(out == in);
    in.assign(300, 7);
    CHECK_EQ(a.send(in), 0);
    CHECK_EQ(b.recv(out), 0);
    CHECK(out == in);
    CHECK_EQ(a.send("parts", 5), 0); // one, and a quarter
    CHECK_EQ(b.recv(out), -EBADMSG);
    CHECK(out.empty());
    CHECK_EQ(a.send(9), 0);
    CHECK_EQ(b.recv(out), 0);
    CHECK(out == std::vector<int>{9});
}

// A vector for which there is memory for so many elements.
struct limited : std::vector<char> {
    using std::vector<char>::vector;
    void resize(size_t n) {
        if (n > most)
            throw std::bad_alloc();
        std::vector<char>::resize(n);
    }
    size_t most = 100;
};

void no_memory() {
    auto [a, b] = fin::chan::pair();
    limited l;
    CHECK_EQ(a.send(text(120)), 0);
    CHECK_EQ(a.send(text(3)), 0);
    bool thrown = false;
    try {
        (void)b.recv(l);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    CHECK(thrown);
    l.most = 200;
    CHECK_EQ(b.recv(l), 0); // it is still there
    CHECK(std::string(l.begin(), l.end()) == text(120));
    CHECK_EQ(b.recv(l), 0);
    CHECK(std::string(l.begin(), l.end()) == text(3));
}

void calls() {
    fin::chan a, b;
    std::tie(a, b) = fin::chan::pair();
    fin_finish {
        fin_async {
            std::string s;
            while (b.recv(s) == 0)
                CHECK_EQ(b.send(s + s), 0);
        };
        std::string s;
        for (size_t n : lengths) {
            CHECK_EQ(a.send_recv(text(n), s), 0);
            CHECK(s == text(n) + text(n));
        }
        s = text(70);
        CHECK_EQ(a.send_recv(s, s), 0); // the same for both
        CHECK(s == text(70) + text(70));
        CHECK_EQ(a.send_recv(std::string(a.most() + 1, 'x'), s), -EMSGSIZE); // no answer comes to what was not sent
        a = fin::chan();
    }
}

void rpcs() {
    auto [a, b] = fin::chan::pair();
    fin::rpc client(std::move(a), FIN_RPC_CLIENT), server(std::move(b));
    fin_finish {
        fin_async {
            CHECK_EQ(server.serve<std::string>([](const std::string &s) noexcept { return s + s; }), -ESHUTDOWN);
        };
        std::string s;
        for (size_t n : lengths) {
            CHECK_EQ(client.call(text(n), s), 0);
            CHECK(s == text(n) + text(n));
        }
        uint32_t id;
        CHECK_EQ(client.send(text(90), id), 0);
        CHECK_EQ(client.recv(id, s), 0);
        CHECK(s == text(90) + text(90));
        CHECK_EQ(client.call(std::string(client.most() + 1, 'x'), s), -EMSGSIZE);

        limited l;
        bool thrown = false;
        try {
            (void)client.call(text(70), l);
        } catch (const std::bad_alloc &) {
            thrown = true;
        }
        CHECK(thrown);
        CHECK_EQ(client.call(text(2), s), 0);
        CHECK_EQ(client.strays(), 0); // the answer that was too long was one that nobody wants, not one of nobody
        client = fin::rpc();
    }
}

void accepts() {
    auto [a, b] = fin::chan::pair();
    fin::rpc client(std::move(a), FIN_RPC_CLIENT), server(std::move(b));
    fin_finish {
        fin_async {
            std::string s;
            uint32_t id;
            CHECK_EQ(server.accept(s, id), 0);
            CHECK(s == text(500));
            CHECK_EQ(server.reply(id, s), 0);
            std::vector<int> v;
            CHECK_EQ(server.accept(v, id), -EBADMSG);
            CHECK_EQ(server.reply(id, v), 0);
        };
        std::string s;
        CHECK_EQ(client.call(text(500), s), 0);
        CHECK(s == text(500));
        CHECK_EQ(client.call(text(5), s), 0);
        CHECK(s.empty());
    }
}

} // namespace

int main() {
    strings();
    elements();
    no_memory();
    calls();
    rpcs();
    accepts();
    return 0;
}
