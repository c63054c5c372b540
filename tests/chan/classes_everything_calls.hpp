// SPDX-License-Identifier: BSD-2-Clause
// The calls and the waitsets of classes_everything.cpp: closures as handlers, which wait, throw and catch, close, remove and
// move their channels.
#ifndef FIN_TESTS_CLASSES_EVERYTHING_CALLS_HPP
#define FIN_TESTS_CLASSES_EVERYTHING_CALLS_HPP

#include <algorithm>
#include <mutex>

#include "classes_everything.hpp"

// ---- calls

struct request {
    int what, how;
};
struct answer {
    int what, twice, how;
};

struct service {
    fin::rpc client, server;
    int callers;                       // all of one thread
    const bool both = chance(2);       // the server calls back
    fin::scope *calls_back = nullptr;  // where the client serves
    std::atomic<int> called_back = 0;
    std::atomic<long> served = 0;
    long asked = 0, given_up = 0;
    explicit service(int callers, const fin_chan_options &how) : callers(callers) {
        auto ends = fin::chan::pair(how);
        client = fin::rpc(std::move(ends.first), both ? 0 : FIN_RPC_CLIENT);
        server = fin::rpc(std::move(ends.second));
    }
};

// What each form of serving does. The closure that calls it owns something. Who takes one request at a time calls nobody:
// the answer might come behind the next request.
inline answer works_on(service &s, const request &r, bool calls_back) noexcept {
    s.served++;
    if (s.both && calls_back && chance(3)) {
        int half = r.what, whole = 0;
        int e = s.server.call(half, whole);
        CHECK_OF(e, e == 0 || e == -ECANCELED || e == -ESHUTDOWN || e == -EPIPE);
        if (e == 0)
            CHECK_EQ(whole, half + 1);
    }
    if (chance(2))
        throws_of(r.what, [&] {
            may_throw(r.what, 2);
            pause_here();
        });
    return {r.what, 2 * r.what, r.how};
}
inline void replies(service &s, uint32_t id, const request *r, size_t size, bool calls_back = false) noexcept {
    int error = size == sizeof *r ? s.server.reply(id, works_on(s, *r, calls_back)) : s.server.reply(id, nullptr, 0);
    CHECK(error == 0 || error == -EPIPE || error == -ECANCELED);
}

inline void serves(service &s) {
    int r = -ECANCELED;
    switch (below(3)) {
    case 0:
        r = s.server.serve<request>([&s, o = object()](const request &r) noexcept {
            CHECK(o.what() > 0);
            return works_on(s, r, true);
        });
        break;
    case 1: {
        auto raw = [&s, o = object()](uint32_t id, void *bytes, size_t size) noexcept {
            CHECK(o.what() > 0);
            request r;
            memcpy(&r, bytes, std::min(size, sizeof r));
            replies(s, id, &r, size, true);
        };
        r = s.server.serve(raw);
        break;
    }
    default:
        do {
            request q;
            uint32_t id;
            in_danger([&] { r = s.server.accept(q, id); });
            CHECK_OF(r, r == 0 || r == -EBADMSG || r == -ESHUTDOWN || (r == -ECANCELED && !calm));
            if (r == 0 || r == -EBADMSG)
                replies(s, id, &q, r == 0 ? sizeof q : 1);
        } while (r != -ESHUTDOWN);
    }
    CHECK_EQ(r, -ESHUTDOWN);
    fin::rpc ends(std::move(s.server));
    CHECK(!s.server && ends); // NOLINT
}
inline fin::task<> accept_form(service &s, request &q, uint32_t &id, int &r) { r = co_await co::accept(s.server, q, id); }
inline fin::task<> serves_co(service &s) {
    int r = 0;
    while (r != -ESHUTDOWN) {
        request q;
        uint32_t id;
        co_await in_danger_co(accept_form(s, q, id, r));
        CHECK_OF(r, r == 0 || r == -EBADMSG || r == -ESHUTDOWN || (r == -ECANCELED && !calm));
        if (r == 0 || r == -EBADMSG)
            replies(s, id, &q, r == 0 ? sizeof q : 1);
    }
    s.server = fin::rpc();
}

// What a call gave: is it over?
inline bool answered(int r, const request &q, const answer &a) {
    CHECK_OF(r, r == 0 || (r == -ECANCELED && !calm));
    if (r == 0)
        CHECK(a.what == q.what && a.twice == 2 * q.what && a.how == q.how);
    return r == 0;
}
inline bool in_halves(service &s, const request &q, answer &a) {
    uint32_t id;
    int r = s.client.send(q, id);
    CHECK_OF(r, r == 0 || (r == -ECANCELED && !calm));
    if (r != 0)
        return false;
    for (;;) {
        r = -ECANCELED;
        try {
            in_danger([&] {
                may_throw(q.what);
                r = s.client.recv(id, a);
            });
        } catch (const thrown &t) {
            CHECK_EQ(t.of, q.what);
        }
        if (r != -ECANCELED)
            break;
        if (chance(4)) {
            CHECK_EQ(s.client.forget(id), 0);
            s.given_up++;
            CHECK_EQ(s.client.recv(id, a), fin_cancelled() ? -ECANCELED : -ESRCH);
            return false;
        }
    }
    return answered(r, q, a);
}
inline bool call_once(service &s, int what) {
    request q{what, static_cast<int>(below(1000))};
    answer a{};
    bool over = false;
    throws_of(what, [&] {
        in_danger([&] {
            int r;
            switch (below(5)) {
            case 0:
                over = in_halves(s, q, a);
                return;
            case 1:
                r = static_cast<int>(s.client.call(&q, sizeof q, &a, sizeof a));
                CHECK_OF(r, r == sizeof a || r == -ECANCELED);
                r = std::min(r, 0);
                break;
            case 2:
                r = s.client.call(what, a); // no request
                CHECK_OF(r, r == -EBADMSG || (r == -ECANCELED && !calm));
                s.given_up += r == -ECANCELED;
                return;
            default:
                r = s.client.call(q, a);
            }
            over = answered(r, q, a);
            s.given_up += r == -ECANCELED;
            may_throw(what);
        });
    });
    return over;
}
inline fin::task<> call_form(service &s, const request &q, bool &over) {
    answer a{};
    int r;
    if (chance(2)) {
        r = co_await co::call(s.client, q, a);
        s.given_up += r == -ECANCELED;
    } else {
        uint32_t id;
        r = s.client.send(q, id); // with its stack
        if (r == 0) {
            r = co_await co::recv(s.client, id, a);
            if (r == -ECANCELED) {
                CHECK_EQ(s.client.forget(id), 0);
                s.given_up++;
            }
        }
    }
    over = answered(r, q, a);
}
// What the server asks back, until the last caller is through.
inline void serves_back(service &s) {
    int r = 0;
    fin::finish([&](fin::scope &scope) {
        s.calls_back = &scope;
        r = s.client.serve<int>([&s](const int &what) noexcept {
            s.called_back++;
            pause_here();
            return what + 1;
        });
    });
    CHECK_EQ(r, -ECANCELED);
    s.calls_back = nullptr;
}
inline void is_through(service &s) {
    if (--s.callers > 0)
        return;
    if (s.both) {
        while (!s.calls_back)
            fin_yield(); // it has not begun
        s.calls_back->cancel();
        while (s.calls_back)
            fin_yield();
    }
    CHECK(s.client.strays() <= static_cast<uint64_t>(s.given_up));
    fin::rpc other;
    if (chance(2))
        std::swap(other, s.client);
    else
        s.client = std::move(other);
}
inline void calls(service &s, int n) {
    for (; n > 0; n--) {
        int what = new_id();
        while (!call_once(s, what))
            pause_here();
    }
    is_through(s);
}
inline fin::task<> calls_co(service &s, int n) {
    for (; n > 0; n--) {
        request q{new_id(), 7};
        for (bool over = false; !over;)
            co_await in_danger_co(call_form(s, q, over));
    }
    is_through(s);
}

// ---- waitsets

struct watched;
struct watch {
    fin::waitset set;
    std::atomic<int> users; // channels, and those who make events of their own
    watch *other = nullptr; // where channels may go
    explicit watch(int users) : users(users) {}
    bool joins() {
        int n = users;
        while (n > 0 && !users.compare_exchange_weak(n, n + 1))
            ;
        return n > 0;
    }
    void is_through() {
        if (--users == 0)
            set.shutdown();
    }
};

// A channel in a set, and its handler.
struct watched {
    fin::chan to, from;
    watch *in;
    std::atomic<int> inside = 0;
    int next = 1;
    std::atomic<int> sent = 0;
    bool ended = false;
    std::unique_ptr<object> own = std::make_unique<object>();
    explicit watched(watch &w, const fin_chan_options &how) : in(&w) {
        std::tie(to, from) = fin::chan::pair(how);
        CHECK_EQ(w.set.add(from, *this), 0);
    }
    void operator()() {
        CHECK_EQ(++inside, 1);
        CHECK(!ended && own->what() > 0);
        if (chance(4))
            throws_of(own->what(), [&] {
                brittle b(own->what());
                pause_here();
                may_throw(own->what());
            });
        item i;
        int r = 0;
        for (unsigned n = 1 + below(4); n > 0 && r == 0; n--) {
            r = chance(2) ? from.try_recv(i) : receives(i);
            if (r == 0)
                CHECK_EQ(i.what, next++);
        }
        CHECK_OF(r, r == 0 || r == -EAGAIN || r == -ESHUTDOWN);
        if (r == -ESHUTDOWN) {
            CHECK_EQ(next - 1, sent);
            ended = true;
            from = fin::chan(); // which leaves the set
        } else if (chance(8)) {
            CHECK_EQ(in->set.remove(from), 0); // and comes back
            inside--;
            CHECK_EQ(in->set.add(from, *this), 0);
            return;
        }
        moves();
        inside--;
        if (ended)
            in->is_through();
    }

private:
    // To the other set, as long as that has somebody.
    void moves() {
        watch *from_set = in, *to_set = in->other;
        if (ended || !chance(6) || !to_set || !to_set->joins())
            return;
        in = to_set;
        CHECK_EQ(to_set->set.take_over(from), 0);
        from_set->is_through();
    }
    // There may be nothing.
    int receives(item &i) {
        int r = from.try_recv(i);
        if (r != -EAGAIN)
            return r;
        fin::finish([&](fin::scope &s) {
            s.cancel();
            r = from.recv(i);
        });
        CHECK_OF(r, r == -ECANCELED);
        return -EAGAIN;
    }
};

inline void sends(watched &w, int n) {
    for (int i = 1; i <= n; i++) {
        w.sent = i;
        int r = -ECANCELED;
        while (r != 0) {
            in_danger([&] { r = chance(2) ? w.to.send(item{i, 0}) : w.to.try_send(item{i, 0}); });
            CHECK_OF(r, r == 0 || r == -EAGAIN || (r == -ECANCELED && !calm));
            if (r != 0)
                fin_yield();
        }
        pause_here();
    }
    w.to = fin::chan();
}

// A channel that leaves the set while others dispatch: after that nobody is in its handler, or will be.
inline void leaves_set(watch &w) {
    auto ends = fin::chan::pair();
    bool left = false;
    int next = 1;
    object o;
    {
        auto handler = [&, own = object(o.what())] {
            CHECK(!left && own.what() == o.what());
            item i;
            if (ends.second.try_recv(i) == 0)
                CHECK_EQ(i.what, next++);
            if (chance(3))
                pause_here();
            CHECK(!left);
        };
        CHECK_EQ(w.set.add(ends.second, handler), 0);
        for (int i = 1; i < 5; i++) {
            CHECK_EQ(ends.first.send_nc(item{i, 0}), 0);
            if (chance(2))
                pause_here();
        }
        if (chance(2)) {
            int r = w.set.remove_wait_nc(ends.second);
            CHECK_EQ(r, 0);
        } else {
            ends.first = fin::chan();
            fin_yield();
            CHECK_EQ(w.set.remove_wait_nc(ends.second), 0);
        }
        left = true;
    }
    for (item i; ends.second.try_recv(i) == 0;)
        CHECK_EQ(i.what, next++);
    CHECK_EQ(next, 5);
}

// A source that its own handler destroys.
inline void destroys_itself(watch &w) {
    fin_event seen = FIN_EVENT_INIT;
    std::unique_ptr<fin::waitset_source> source;
    object o;
    auto handler = [&, own = object(o.what())] {
        CHECK(source && own.what() == o.what());
        source = nullptr;
        if (chance(2))
            pause_here();
        CHECK_EQ(own.what(), o.what());
        fin_event_advance(&seen, 1);
    };
    source = std::make_unique<fin::waitset_source>(w.set, handler);
    source->trigger();
    fin_event_await_nc(&seen, 1);
    CHECK(!source);
}

// Events of its own, as long as the object exists.
inline void triggers(watch &w) {
    if (chance(2))
        leaves_set(w);
    if (chance(2))
        destroys_itself(w);
    for (unsigned n = 1 + below(4); n > 0; n--) {
        std::atomic<uint64_t> wanted = 0;
        fin_event seen = FIN_EVENT_INIT;
        object o;
        auto handler = [&, o = object(o.what())] {
            CHECK(o.what() > 0);
            uint64_t count = wanted;
            if (chance(4))
                pause_here();
            if (count > fin_event_read(&seen))
                fin_event_advance(&seen, count - fin_event_read(&seen));
        };
        throws_of(o.what(), [&] {
            fin::waitset_source source(w.set, handler);
            for (unsigned i = below(5); i > 0; i--) {
                wanted++;
                source.trigger();
                if (chance(2))
                    pause_here();
                may_throw(o.what());
                if (chance(2))
                    fin_event_await_nc(&seen, wanted);
            }
        });
    }
    w.is_through();
}

inline void dispatches(watch &w) {
    int r = 0;
    while (r != -ESHUTDOWN) {
        auto op = [&] {
            switch (below(calm ? 2 : 4)) {
            case 0:
                r = w.set.dispatch_nc();
                break;
            case 2:
                r = w.set.dispatch_nonblock();
                break;
            case 3:
                r = w.set.check();
                break;
            default:
                r = w.set.dispatch();
            }
        };
        in_danger(op);
        CHECK_OF(r, r == 0 || r == -ESHUTDOWN || (!calm && (r == -EAGAIN || r == -ECANCELED)));
        if (r != 0)
            fin_yield();
    }
}
inline fin::task<> dispatch_form(watch &w, int &r) { r = co_await co::dispatch(w.set); }
inline fin::task<> dispatches_co(watch &w) {
    int r = 0;
    while (r != -ESHUTDOWN) {
        co_await in_danger_co(dispatch_form(w, r));
        CHECK_OF(r, r == 0 || r == -ESHUTDOWN || (!calm && r == -ECANCELED));
    }
}

#endif
