// SPDX-License-Identifier: BSD-2-Clause
// The C++ classes of channels, waitsets and calls: what they own ends with them, messages are objects and containers, and
// errors are those of the C functions.
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fin.hpp>

#include "check.h"
#include "process.h"

namespace {

struct point {
    int x, y;
};
const std::string name = "@fin-test-classes-" + std::to_string(getpid());

template <class T> constexpr bool is_object = fin::detail::is_object<T>;
static_assert(is_object<point> && is_object<int[4][2]> && is_object<std::array<std::array<point, 2>, 2>>);
static_assert(!is_object<std::array<int, 0>> && !is_object<std::nullptr_t> && !is_object<int point::*> &&
              !is_object<std::string_view> && !is_object<std::reference_wrapper<int>> && !is_object<int *[2]>);

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
    int rows[2][2] = {{1, 2}, {3, 4}}, more[2][2] = {};
    CHECK_EQ(a.send(rows), 0);
    CHECK_EQ(b.recv(more), 0);
    CHECK_EQ(more[1][1], 4);
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
        CHECK(m && m.text() == "in place");
        CHECK_EQ(b.send(m), 0); // on, or back, without a copy of it
    }
    CHECK_EQ(fin::chan_message(a).size(), 8);
    int x;
    CHECK_EQ(b.try_recv(x), -EAGAIN); // taken
    a = fin::chan();
    fin::chan_message none(b);
    CHECK(!none && none.error() == -ESHUTDOWN && none.size() == 0);
}

// An error of the wait, as of a cancel, is no exception.
void no_room() {
    auto ends = fin::chan::pair();
    fin_finish {
        fin_cancel();
        fin::chan_room room(ends.first, 8);
        CHECK(!room && room.error() == -ECANCELED);
        CHECK_EQ(room.commit(0), -EINVAL);
    }
    fin::chan_room open(ends.first, 8);
    CHECK(open && open.error() == 0);
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
        fin::chan nobody((name + "-nobody").c_str());
    } catch (const std::system_error &e) {
        error = e.code().value();
    }
    CHECK_EQ(error, ECONNREFUSED);
    try {
        fin::chan_listener second(name.c_str());
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
    std::unique_ptr<fin::waitset_source> once;
    auto on_once = [&once] { once.reset(); };
    once = std::make_unique<fin::waitset_source>(set, on_once);
    once->trigger();
    CHECK_EQ(set.dispatch(), 0);
    CHECK(!once);
    CHECK_EQ(set.check(), -EAGAIN);
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
    fin_finish { // one loop with objects, which is told of the client's end
        fin_async {
            int error = server.serve<point>([](const point &p) noexcept { return point{p.y, p.x}; });
            CHECK_EQ(error, -ESHUTDOWN);
        };
        point p = {1, 2}, back;
        char none[1];
        CHECK_EQ(client.call(p, back), 0);
        CHECK(back.x == 2 && back.y == 1);
        CHECK_EQ(client.call("not a point", none), -EBADMSG);
        CHECK_EQ(client.call("not a point", 3, none, sizeof none), 0);
        client = fin::rpc();
    }
    try {
        fin::rpc none{fin::chan()};
        CHECK(!"an end");
    } catch (const std::system_error &e) {
        CHECK_EQ(e.code().value(), EINVAL);
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

void closed_in_accept() {
    fin_finish {
        fin_async {
            fin::chan_listener door(name);
            fin_finish {
                fin_async {
                    fin::chan c;
                    (void)door.accept(c);
                };
                fin_async_call([](void *d) { static_cast<fin::chan_listener *>(d)->~chan_listener(); }, &door);
            }
        };
    }
}

} // namespace

int main() {
    objects();
    containers();
    owners();
    in_place();
    no_room();
    clients();
    cancelled();
    events();
    calls();
    char text[512];
    CHECK_EQ(killed_by(destroyed_in_use, text, sizeof text), SIGABRT);
    CHECK(strstr(text, "a fin::chan is destroyed while it is in use"));
    CHECK_EQ(killed_by(closed_in_accept, text, sizeof text), SIGABRT);
    CHECK(strstr(text, "a fin::chan_listener is destroyed while it is in use"));
    return 0;
}
