// SPDX-License-Identifier: BSD-2-Clause
// The queues of objects_everything.cpp, at which AWEs of all threads push and pop, with stacks and without.
#ifndef FIN_TESTS_OBJECTS_EVERYTHING_QUEUE_HPP
#define FIN_TESTS_OBJECTS_EVERYTHING_QUEUE_HPP

#include <memory>
#include <optional>
#include <vector>

#include <fin/queue.hpp>

#include "danger.hpp"

enum { QUEUES = 3, PRODUCERS = 12, SEQUENCE = 1000 };

// ---- a queue of objects, numbered by who pushes them

struct line {
    fin::bounded_queue<object> q;
    std::atomic<int> producers; // who are not through
    std::atomic<long> pushed = 0, popped = 0, pushed_sum = 0, popped_sum = 0;
    bool one_consumer;
    bool abandoned = chance(3); // nobody pops any more once it is closed: who pushes is told by that alone
    std::atomic<bool> closed = false;
    int last[PRODUCERS] = {}; // where one consumer sees the order
    line(size_t most, int producers, bool one)
        : q(most), producers(producers), one_consumer(one) {}

    void was_pushed(int what) {
        pushed++;
        pushed_sum += what;
    }
    void was_popped(const object &o) {
        popped++;
        popped_sum += o.what();
        if (!one_consumer)
            return;
        int &before = last[o.what() / SEQUENCE];
        CHECK(o.what() > before);
        before = o.what();
    }
    void close() {
        closed = true;
        q.close();
    }
    void is_through() {
        if (--producers == 0)
            close();
    }
    // All have ended.
    void check() {
        object o;
        while (abandoned && q.try_pop(o) == 0)
            was_popped(o);
        o = object();
        CHECK_EQ(q.try_pop(o), -ESHUTDOWN);
        CHECK_EQ(q.try_push(std::move(o)), -EPIPE);
        CHECK(!o.is_moved());
        CHECK_EQ(pushed, popped);
        CHECK_EQ(pushed_sum, popped_sum);
    }
};

// What a push said: was the object taken? Then it has been moved, or copied.
inline bool pushed(line &l, int r, const object &o, int what, bool copied, bool could_wait) {
    CHECK_OF(r, r == 0 || (r == -ECANCELED && could_wait && !calm) || (r == -EAGAIN && !could_wait) ||
          (r == -EPIPE && l.closed));
    CHECK_EQ(o.is_moved(), r == 0 && !copied);
    if (r == 0)
        l.was_pushed(what);
    else
        CHECK_EQ(o.what(), what);
    return r == 0 || r == -EPIPE;
}

// A push in one of its forms, once. Is that through?
inline bool push_once(line &l, object &o, int what) {
    unsigned form = below(4);
    try {
        bool over = false;
        in_danger([&] {
            int r = form == 0 ? l.q.push(std::move(o)) : form == 1 ? l.q.push(std::as_const(o)) :
                    form == 2 ? l.q.try_push(std::move(o)) : l.q.try_push(std::as_const(o));
            over = pushed(l, r, o, what, form % 2, form < 2);
        });
        return over;
    } catch (const thrown &t) {
        CHECK(form % 2 && t.of == what && o.what() == what);
        return false;
    }
}
inline fin::task<> push_form(line &l, object &o, int what, bool copies, bool &over) {
    int r;
    if (copies)
        r = co_await co::push(l.q, std::as_const(o));
    else
        r = co_await co::push(l.q, std::move(o));
    over = pushed(l, r, o, what, copies, true);
}
inline fin::task<bool> push_once_co(line &l, object &o, int what) {
    bool copies = chance(2), over = false;
    try {
        co_await in_danger_co(push_form(l, o, what, copies, over));
    } catch (const thrown &t) {
        CHECK(copies && t.of == what && o.what() == what);
    }
    co_return over;
}

inline int number_of(int me, int i) { return me * SEQUENCE + i + 1; }

inline void produces(line &l, int me, int n) {
    for (int i = 0; i < n && !(l.closed && chance(2)); i++) {
        int what = number_of(me, i);
        object o(what);
        while (!push_once(l, o, what))
            pause_here();
        pause_here();
    }
    l.is_through();
}
inline fin::task<> produces_co(line &l, int me, int n) {
    for (int i = 0; i < n; i++) {
        int what = number_of(me, i);
        object o(what);
        for (bool over = false; !over;) {
            over = co_await push_once_co(l, o, what);
            if (chance(2))
                co_await co::yield();
        }
    }
    l.is_through();
}

// What a pop said: is it the end?
inline bool popped(line &l, int r, const object *o, bool could_wait, bool wild) {
    CHECK_OF(r, r == 0 || (r == -ECANCELED && could_wait && wild) || (r == -EAGAIN && !could_wait) ||
          (r == -ESHUTDOWN && l.closed));
    if (r == 0)
        l.was_popped(*o);
    return r == -ESHUTDOWN;
}

inline bool is_wild(const line &l) { return !calm && !l.closed; }

inline bool pop_once(line &l, bool wild) {
    unsigned form = below(wild ? 4 : 2);
    bool over = false;
    object o(0);
    std::optional<object> maybe;
    if (chance(2))
        maybe.emplace(0);
    auto pop = [&] {
        int r = form == 0 ? l.q.pop(o) : form == 1 ? l.q.pop(maybe) : form == 2 ? l.q.try_pop(o) : l.q.try_pop(maybe);
        over = popped(l, r, form % 2 == 0 ? &o : maybe ? &*maybe : nullptr, form < 2, wild);
        if (r != 0)
            CHECK(o.what() == 0 && (!maybe || maybe->what() == 0));
    };
    if (wild)
        in_danger(pop);
    else
        pop();
    return over;
}
inline fin::task<> pop_form(line &l, object &o, std::optional<object> &maybe, bool to_maybe, bool wild, bool &over) {
    int r;
    if (to_maybe)
        r = co_await co::pop(l.q, maybe);
    else
        r = co_await co::pop(l.q, o);
    over = popped(l, r, to_maybe ? maybe ? &*maybe : nullptr : &o, true, wild);
}

inline void consumes(line &l) {
    for (bool over = false; !over && !(l.abandoned && l.closed);) {
        over = pop_once(l, is_wild(l));
        if (!over)
            pause_here();
    }
}
inline fin::task<> consumes_co(line &l) {
    for (bool over = false; !over && !(l.abandoned && l.closed);) {
        bool wild = is_wild(l), to_maybe = chance(2);
        object o(0);
        std::optional<object> maybe;
        auto pops = pop_form(l, o, maybe, to_maybe, wild, over);
        if (wild)
            co_await in_danger_co(std::move(pops));
        else
            co_await std::move(pops);
        if (chance(3))
            co_await co::yield();
    }
}

#endif
