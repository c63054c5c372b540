// SPDX-License-Identifier: BSD-2-Clause
// What the random programs of coroutine_everything.cpp wait for. There is just as much of each as is waited for: so what a
// cancelled wait took, or a wake-up that was lost, is missed at the end.
#ifndef FIN_TESTS_EVERYTHING_THINGS_HPP
#define FIN_TESTS_EVERYTHING_THINGS_HPP

#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

#include "everything.hpp"

// Of all threads.
struct common_things {
    fin::mutex locks[2];
    std::atomic<int> holders[2] = {};
    long counts[2] = {0, 0}; // guarded by the locks
    fin::semaphore slots{2};
    std::atomic<int> in_slots{0};
    fin::mutex m;
    fin::condition_variable changed;
    int tokens = 0, wanted_tokens = 0; // guarded by m
    fin_event event = FIN_EVENT_INIT;
    std::atomic<uint64_t> wanted_count{0};
    fin_queue queue = FIN_QUEUE_INIT;
    std::atomic<int> at_turn{0};

    void supply() { // with m
        for (; wanted_tokens > 0; wanted_tokens--, tokens++)
            changed.notify_one();
        if (chance(4))
            changed.notify_all(); // for nothing
    }
    void check_end() const {
        for (const auto &h : holders)
            CHECK_EQ(h, 0);
        CHECK_EQ(in_slots, 0);
        CHECK_EQ(tokens + wanted_tokens, 0);
        CHECK_EQ(at_turn, 0);
        CHECK(!queue.first && !queue.last);
    }
};
inline common_things *common;

// At most `most` at a time.
class among {
public:
    among(std::atomic<int> &now, int most) : now_(now) { CHECK(++now_ <= most); }
    ~among() { CHECK(--now_ >= 0); }

private:
    std::atomic<int> &now_;
};

struct parked {
    fin_awe *awe = nullptr;
    bool woken = false;
};

// Messages of one to some hundred bytes, of which the first four are a number.
struct message {
    uint32_t number;
    char more[300];
    void set(uint32_t n) {
        number = n;
        memset(more, static_cast<int>(n), sizeof more);
    }
    size_t size() const { return 4 + number % 296; }
    void check(ssize_t n) const {
        CHECK_EQ(n, size());
        for (size_t i = 0; i < size() - 4; i++)
            CHECK_EQ(more[i], static_cast<char>(number));
    }
};

// Of one thread. Receivers say in `wanted` how much they lack.
struct own_things {
    std::vector<parked *> parked_here;
    fin_chan *from[2], *to[2], *asked[2], *watched[2];
    int sockets[2];
    fin_rpc *local[2], *to_next = nullptr, *of_previous = nullptr;
    fin_waitset *set;
    bool asking = false;
    int wanted = 0, wanted_events = 0, wanted_bytes = 0, handled = 0, dispatched = 0;
    uint32_t numbers = 0;
    uint64_t sum_from = 0, sum_to = 0; // sent, not yet received
    int bytes = 0;

    static void pair(fin_chan *(&ends)[2], unsigned flags) {
        fin_chan_options options{4096, flags};
        CHECK_EQ(fin_chan_pair(&ends[0], &ends[1], &options), 0);
    }
    static unsigned either() { return chance(2) ? FIN_CHAN_LOCAL : 0; }

    own_things() {
        pair(from, either());
        pair(to, either());
        pair(asked, either());
        pair(watched, either());
        fin_chan *ends[2];
        pair(ends, either());
        CHECK_EQ(fin_rpc_open(&local[0], ends[0], FIN_RPC_CLIENT) | fin_rpc_open(&local[1], ends[1], 0), 0);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
        CHECK_EQ(fin_waitset_new(&set), 0);
        CHECK_EQ(fin_waitset_add(set, watched[1], handle, this), 0);
    }
    ~own_things() {
        supply();
        CHECK_EQ(sum_to, 0);
        CHECK_EQ(handled, dispatched);
        message m;
        for (; wanted < 0; wanted++) {
            m.check(fin_chan_try_recv(from[1], &m, sizeof m));
            sum_from -= m.number;
        }
        CHECK_EQ(wanted, 0);
        CHECK_EQ(sum_from, 0);
        for (; wanted_events < 0; wanted_events++)
            m.check(fin_chan_try_recv(watched[1], &m, sizeof m));
        CHECK_EQ(fin_chan_try_recv(watched[1], &m, sizeof m), -EAGAIN);
        char c;
        for (; wanted_bytes < 0; wanted_bytes++) {
            CHECK_EQ(recv(sockets[1], &c, 1, MSG_DONTWAIT), 1);
            bytes -= c;
        }
        CHECK_EQ(bytes, 0);
        CHECK_EQ(fin_chan_close(from[0]) | fin_chan_close(from[1]) | fin_chan_close(to[0]) | fin_chan_close(to[1]) |
                     fin_chan_close(watched[0]) | fin_chan_close(watched[1]), 0);
        fin_waitset_close(set);
        close(sockets[0]);
        close(sockets[1]);
    }

    static void handle(void *arg) noexcept {
        auto &o = *static_cast<own_things *>(arg);
        message m;
        m.check(fin_chan_try_recv(o.watched[1], &m, sizeof m));
        if (chance(3))
            fin_yield();
        o.handled++;
    }

    void wake(parked &p) {
        int r = fin_schedule(p.awe);
        CHECK(r == 0 || r == -EALREADY);
        p.woken = r == 0;
        std::erase(parked_here, &p);
    }

    // All that is wanted, as far as there is room.
    void supply() {
        while (!parked_here.empty())
            wake(*parked_here[below(static_cast<unsigned>(parked_here.size()))]);
        message m;
        for (; wanted > 0; wanted--) {
            m.set(++numbers);
            if (fin_chan_try_send(from[0], &m, m.size()) != 0)
                break;
            sum_from += m.number;
        }
        for (; wanted_events > 0; wanted_events--) {
            m.set(++numbers);
            if (fin_chan_try_send(watched[0], &m, m.size()) != 0)
                break;
        }
        for (; wanted_bytes > 0; wanted_bytes--) {
            char c = static_cast<char>(1 + below(100));
            CHECK_EQ(send(sockets[0], &c, 1, MSG_DONTWAIT), 1);
            bytes += c;
        }
        for (ssize_t n; (n = fin_chan_try_recv(to[1], &m, sizeof m)) >= 0; sum_to -= m.number)
            m.check(n);
        uint64_t count = fin_event_read(&common->event), wanted_count = common->wanted_count;
        if (wanted_count > count)
            fin_event_advance(&common->event, wanted_count - count);
    }
};
inline thread_local own_things *own;

// Who asked may be gone, if that was cancelled.
inline void replied(int error) { CHECK(error == 0 || error == -EPIPE); }

// A service that answers n with 3n + 1, in one of several ways.
inline void answer(fin_rpc *r, uint32_t id, void *request, size_t size, void *) noexcept {
    message m;
    memcpy(&m, request, size);
    m.check(static_cast<ssize_t>(size));
    if (chance(3))
        fin_sleep(below(30) * FIN_US);
    else if (chance(3))
        fin_yield();
    m.set(3 * m.number + 1);
    replied(fin_rpc_reply(r, id, &m, m.size()));
}
inline fin::task<> serves(fin_rpc *r) {
    if (chance(2)) {
        CHECK_EQ(co_await co::serve(r, answer, nullptr), -ESHUTDOWN);
    } else {
        message m;
        uint32_t id;
        for (int n; (n = co_await co::accept(r, &m, sizeof m, id)) != -ESHUTDOWN;) {
            m.check(n);
            if (chance(3))
                co_await co::yield();
            m.set(3 * m.number + 1);
            replied(fin_rpc_reply(r, id, &m, m.size()));
        }
    }
    CHECK_EQ(fin_rpc_close(r), 0);
}
inline void serve(fin_rpc *r) {
    CHECK_EQ(fin_rpc_serve(r, answer, nullptr), -ESHUTDOWN);
    CHECK_EQ(fin_rpc_close(r), 0);
}

// The other end of `asked`: says each number again, plus one.
struct echo {
    fin_chan *chan;
    message m;
    fin_chan_on on;
};
inline fin::next says_again(echo *&e, int n) {
    if (n == -ESHUTDOWN || n == -EPIPE) {
        CHECK_EQ(fin_chan_close(e->chan), 0);
        delete e;
        return fin::end();
    }
    e->m.check(n);
    e->m.set(e->m.number + 1);
    if (chance(2))
        return fin::wait_on<says_again, fin_chan_send_recv_on>(e, e->chan, &e->m, e->m.size(), &e->m, sizeof e->m, &e->on);
    replied(fin_chan_send(e->chan, &e->m, e->m.size()));
    return fin::wait_on<says_again, fin_chan_recv_on>(e, e->chan, &e->m, sizeof e->m, &e->on);
}
inline fin::next hears(echo *&e, int) {
    return fin::wait_on<says_again, fin_chan_recv_on>(e, e->chan, &e->m, sizeof e->m, &e->on);
}

#endif
