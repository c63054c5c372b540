// SPDX-License-Identifier: BSD-2-Clause
// The C++ classes of channels, waitsets and calls: what they own ends with them, messages are objects and containers, and
// errors are those of the C functions.
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <fin.hpp>

#include "check.h"
#include "process.h"

namespace {

struct point {
    int x, y;
};
constexpr char name[] = "@fin-test-classes";

void objects() {
    auto [a, b] = fin::chan::pair();
    point p = {1, 2}, q = {};
    CHECK_EQ(a.send(p), 0);
    CHECK_EQ(b.recv(q), 0);
    CHECK(q.x == 1 && q.y == 2);
    CHECK_EQ(a.send_nc(7), 0); // shorter: taken
    CHECK_EQ(b.recv_nc(q), -EBADMSG);
    CHECK_EQ(b.try_recv(q), -EAGAIN);
    CHECK_EQ(a.try_send(std::array<int, 4>{1, 2, 3, 4}), 0); // longer: it stays
    CHECK_EQ(b.try_recv(q), -EMSGSIZE);
    std::array<int, 4> four;
    CHECK_EQ(b.recv(four), 0);
    CHECK_EQ(four[3], 4);
    CHECK(a.most() > 1000);
}

void containers() {
    auto [a, b] = fin::chan::pair({0, FIN_CHAN_LOCAL});
    char buffer[64];
    CHECK_EQ(a.send(std::string("string")), 0);
    CHECK_EQ(a.send(std::string_view("a view").substr(2)), 0);
    CHECK_EQ(a.send(std::vector<point>(3)), 0);
    CHECK_EQ(a.send(std::vector<point>()), 0);
    CHECK_EQ(a.send("0"), 0); // with its end
    CHECK_EQ(b.recv(buffer, sizeof buffer), 6);
    CHECK_EQ(b.recv(buffer, sizeof buffer), 4);
    CHECK_EQ(memcmp(buffer, "view", 4), 0);
    CHECK_EQ(b.recv(buffer, sizeof buffer), 3 * sizeof(point));
    CHECK_EQ(b.recv(buffer, sizeof buffer), 0);
    CHECK_EQ(b.recv(buffer, sizeof buffer), 2);
}

void owners() {
    fin::chan a, b;
    CHECK(!a);
    std::tie(a, b) = fin::chan::pair();
    fin::chan moved(std::move(a));
    CHECK(!a && moved); // NOLINT: it is none then
    CHECK_EQ(moved.send(1), 0);
    moved = fin::chan(); // closed
    int one = 0;
    CHECK_EQ(b.recv(one), 0);
    CHECK_EQ(b.recv(one), -ESHUTDOWN);
    fin_chan *raw = b.release();
    CHECK(!b);
    b = fin::chan(raw);
    CHECK(b.native_handle() == raw);
}

void in_place() {
    auto [a, b] = fin::chan::pair();
    {
        fin::chan_room given_up(a, 100);
        fin::chan_room *room = &given_up;
        CHECK_EQ(room->commit(101), -EINVAL);
    }
    {
        fin::chan_room room(a, 100);
        memcpy(room.data(), "in place", 8);
        CHECK_EQ(room.commit(8), 0);
        CHECK_EQ(room.commit(8), -EINVAL); // it is gone
    }
    {
        fin::chan_message m(b);
        CHECK(m && m.size() == 8 && memcmp(m.data(), "in place", 8) == 0);
    }
    int x;
    CHECK_EQ(b.try_recv(x), -EAGAIN); // taken
    a = fin::chan();
    fin::chan_message none(b);
    CHECK(!none && none.error() == -ESHUTDOWN && none.size() == 0);
}

void clients() {
    fin::chan_listener door(name);
    fin_finish {
        fin_async {
            fin::chan c;
            for (int i = 1; i <= 2; i++) { // the first is closed when the second has come
                CHECK_EQ(door.accept(c), 0);
                CHECK_EQ(c.send(i), 0);
            }
        };
        for (int i = 1; i <= 2; i++) {
            int got = 0;
            fin::chan c(name);
            CHECK_EQ(c.recv(got), 0);
            CHECK_EQ(got, i);
        }
    }
    int error = 0;
    try {
        fin::chan nobody("@fin-test-classes-nobody");
    } catch (const std::system_error &e) {
        error = e.code().value();
    }
    CHECK_EQ(error, ECONNREFUSED);
    try {
        fin::chan_listener second(name);
        error = 0;
    } catch (const std::system_error &e) {
        error = e.code().value();
    }
    CHECK_EQ(error, EADDRINUSE);
}

// A cancelled wait for a client, or for a server, leaves nothing behind.
void cancelled() {
    fin::chan_listener door(name);
    int accepted = 0;
    bool connected = true;
    fin_finish {
        fin_async {
            fin::chan c;
            accepted = door.accept(c);
        };
        fin_cancel();
    }
    CHECK_EQ(accepted, -ECANCELED);
    try {
        fin_finish {
            fin_async {
                fin::chan c(name);
                connected = false;
            };
            fin_cancel();
        }
    } catch (const std::system_error &e) {
        CHECK_EQ(e.code().value(), ECANCELED);
    }
    CHECK(connected);
}

int functions;
void function() { functions++; }

void events() {
    auto [a, b] = fin::chan::pair();
    fin::waitset set, other;
    int sum = 0, told = 0;
    auto on_message = [&b = b, &sum] {
        for (int x; b.try_recv(x) == 0;)
            sum += x;
    };
    const auto on_trigger = [&told] { told++; };
    CHECK_EQ(set.add(b, on_message), 0);
    CHECK_EQ(set.check(), -EAGAIN);
    CHECK_EQ(set.dispatch_nonblock(), -EAGAIN);
    CHECK_EQ(a.send(1), 0);
    CHECK_EQ(set.dispatch(), 0);
    {
        fin::waitset_source source(set, on_trigger), calls(set, function);
        source.trigger();
        calls.trigger();
        CHECK_EQ(set.dispatch(), 0);
        CHECK_EQ(set.dispatch_nc(), 0);
        source.trigger();
    }
    CHECK_EQ(told, 1); // the source left before its second event
    CHECK_EQ(functions, 1);
    CHECK_EQ(other.take_over(b), 0);
    CHECK_EQ(set.remove(b), -ENOENT);
    CHECK_EQ(a.send(2), 0);
    CHECK_EQ(other.dispatch(), 0);
    CHECK_EQ(sum, 3);
    CHECK_EQ(other.remove_wait_nc(b), 0);
    int ended = 0;
    fin_finish {
        fin_async { ended = set.dispatch(); };
        set.shutdown();
    }
    CHECK_EQ(ended, -ESHUTDOWN);
}

void calls() {
    auto [a, b] = fin::chan::pair();
    fin::rpc client(std::move(a), FIN_RPC_CLIENT), server(std::move(b));
    CHECK(!a && !b); // NOLINT
    fin_finish {
        fin_async {
            int error = server.serve([&server](uint32_t id, void *request, size_t size) noexcept {
                point p = {};
                if (size == sizeof p) {
                    memcpy(&p, request, size);
                    CHECK_EQ(server.reply(id, p.x + p.y), 0);
                } else {
                    CHECK_EQ(server.reply(id, std::string_view(static_cast<char *>(request), size)), 0);
                }
            });
            CHECK_EQ(error, -ESHUTDOWN);
        };
        int sum = 0;
        uint32_t id;
        char text[8];
        CHECK_EQ(client.call(point{1, 2}, sum), 0);
        CHECK_EQ(sum, 3);
        CHECK_EQ(client.send(point{3, 4}, id), 0);
        CHECK_EQ(client.recv(id, sum), 0);
        CHECK_EQ(sum, 7);
        CHECK_EQ(client.recv(id, sum), -ESRCH);
        CHECK_EQ(client.call("echo", 4, text, sizeof text), 4);
        CHECK_EQ(client.call(std::string("ab"), sum), -EBADMSG);
        CHECK_EQ(client.send(point{5, 6}, id), 0);
        CHECK_EQ(client.forget(id), 0);
        CHECK_EQ(client.send(point{5, 6}, id), 0); // behind which the answer that nobody wants has come
        CHECK_EQ(client.recv(id, text, sizeof text), sizeof(int));
        CHECK_EQ((int)client.strays(), 1);
        client = fin::rpc();
    }
    std::tie(a, b) = fin::chan::pair();
    client = fin::rpc(std::move(a));
    server = fin::rpc(std::move(b));
    fin_finish {
        fin_async {
            int sum = 0;
            CHECK_EQ(client.call(point{1, 1}, sum), 0);
            CHECK_EQ(sum, 2);
        };
        point p;
        uint32_t id;
        CHECK_EQ(server.accept(p, id), 0);
        CHECK_EQ(server.reply(id, p.x + p.y), 0);
    }
    try {
        fin::chan c;
        std::tie(c, b) = fin::chan::pair();
        fin::rpc wrong(std::move(c), 77);
        CHECK(!"no such flag");
    } catch (const std::system_error &e) {
        CHECK_EQ(e.code().value(), EINVAL);
    }
}

void destroyed_in_use() {
    auto ends = fin::chan::pair();
    fin_finish {
        fin_async {
            int x;
            (void)ends.second.recv(x);
        };
        fin::chan gone(std::move(ends.second));
    }
}

} // namespace

int main() {
    objects();
    containers();
    owners();
    in_place();
    clients();
    cancelled();
    events();
    calls();
    char text[512];
    CHECK_EQ(killed_by(destroyed_in_use, text, sizeof text), SIGABRT);
    CHECK(strstr(text, "a fin::chan is destroyed while an AWE is in one of its calls"));
    return 0;
}
