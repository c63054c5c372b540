// SPDX-License-Identifier: BSD-2-Clause
// How the random programs of coroutine_everything.cpp wait: without a stack, with one, and with a continuation.
#ifndef FIN_TESTS_EVERYTHING_WAITS_HPP
#define FIN_TESTS_EVERYTHING_WAITS_HPP

#include "everything_things.hpp"

enum { WAITS = 16 };

// Holds a lock from here on, which has been locked.
class holds {
public:
    explicit holds(unsigned i) : i_(i), among_(common->holders[i], 1), count_(++common->counts[i]) {}
    ~holds() { CHECK_EQ(common->counts[i_], count_); }

private:
    unsigned i_;
    among among_;
    long count_;
};

class in_line {
public:
    in_line() { fin_queue_enter(&common->queue, &entry); }
    ~in_line() {
        int r = fin_queue_leave(&common->queue, &entry);
        CHECK(r >= (had_turn ? 1 : 0));
    }
    fin_queue_entry entry;
    bool had_turn = false;
};

inline uint64_t some_count() {
    uint64_t count = fin_event_read(&common->event) + below(3), before = common->wanted_count;
    while (before < count && !common->wanted_count.compare_exchange_weak(before, count))
        ;
    return count;
}

inline void received(const message &m, int n) {
    m.check(n);
    own->sum_from -= m.number;
}

inline uint64_t short_time() { return below(40) * FIN_US; }
inline uint64_t some_time(const block_model &b) { return b.ends_by_itself() && chance(4) ? 3600 * FIN_S : short_time(); }

inline fin::task<> waits(block_model &b) {
    wait_model w(b);
    message m;
    switch (below(WAITS)) {
    case 0:
        co_await co::yield();
        break;
    case 1:
        w.is_over(co_await co::sleep(some_time(b)));
        break;
    case 2: {
        unsigned i = below(2);
        if (chance(2)) {
            co_await co::lock_nc(common->locks[i]);
        } else if (!w.is_over(co_await co::lock(common->locks[i]))) {
            break;
        }
        std::lock_guard unlock(common->locks[i], std::adopt_lock);
        holds hold(i);
        may_throw();
        if (chance(2))
            co_await co::sleep(short_time());
        break;
    }
    case 3: {
        if (!w.is_over(co_await co::wait(common->slots)))
            break;
        std::unique_ptr<fin::semaphore, void (*)(fin::semaphore *)> post(&common->slots, [](auto *s) { s->release(); });
        among slot(common->in_slots, 2);
        may_throw();
        co_await co::yield();
        break;
    }
    case 4: {
        if (!w.is_over(co_await co::lock(common->m)))
            break;
        std::lock_guard unlock(common->m, std::adopt_lock);
        common->wanted_tokens++;
        while (common->tokens == 0) {
            wait_model again(b);
            if (!again.is_over(co_await co::wait(common->changed, common->m))) {
                common->wanted_tokens--;
                co_return;
            }
        }
        common->tokens--;
        break;
    }
    case 5: {
        uint64_t count = some_count();
        if (w.is_over(co_await co::await(common->event, count)))
            CHECK(fin_event_read(&common->event) >= count);
        break;
    }
    case 6: {
        in_line line;
        line.had_turn = w.is_over(co_await co::await_turn(common->queue, line.entry));
        if (!line.had_turn)
            break;
        among turn(common->at_turn, 1);
        may_throw();
        co_await co::yield();
        break;
    }
    case 7: {
        parked p;
        own->parked_here.push_back(&p);
        if (chance(3)) {
            CHECK_EQ(co_await co::suspend_nc(p.awe), 0);
            CHECK(p.woken);
            break;
        }
        int r = co_await co::suspend(p.awe);
        std::erase(own->parked_here, &p);
        CHECK_EQ(w.is_over(r), p.woken);
        break;
    }
    case 8: {
        own->wanted++;
        int n = co_await co::recv(own->from[1], &m, sizeof m);
        if (w.is_over(n))
            received(m, n);
        else
            own->wanted--;
        break;
    }
    case 9:
        m.set(++own->numbers);
        own->sum_to += m.number;
        if (!w.is_over(co_await co::send(own->to[0], &m, m.size())))
            own->sum_to -= m.number;
        break;
    case 10:
        own->wanted_events++;
        if (w.is_over(co_await co::dispatch(own->set)))
            own->dispatched++;
        else
            own->wanted_events--;
        break;
    case 11: {
        char c;
        own->wanted_bytes++;
        if (w.is_over(co_await co::recv(own->sockets[1], &c, 1)))
            own->bytes -= c;
        else
            own->wanted_bytes--;
        break;
    }
    case 12: {
        m.set(1 + below(100));
        uint32_t n = m.number;
        int size = co_await co::call(chance(2) ? own->local[0] : own->to_next, &m, m.size(), &m, sizeof m);
        if (w.is_over(size)) {
            m.check(size);
            CHECK_EQ(m.number, 3 * n + 1);
        }
        break;
    }
    case 13: {
        if (own->asking)
            break;
        own->asking = true;
        m.set(++own->numbers);
        uint32_t n = m.number;
        int size = co_await co::send_recv(own->asked[0], &m, m.size(), &m, sizeof m);
        while (w.is_over(size) && m.number != n + 1) // to somebody before, who was cancelled
            size = co_await co::recv(own->asked[0], &m, sizeof m);
        own->asking = false;
        break;
    }
    case 14: {
        bool ran = false, throws = chance(4);
        int id = new_id();
        object o(id);
        auto f = [&ran, throws, o] {
            ran = true;
            if (throws)
                throw_it(o.what());
            usleep(20);
            return o;
        };
        try {
            object back = co_await co::offload(f);
            CHECK(!throws && back.what() == id);
        } catch (const thrown &t) {
            CHECK(throws && t.what.what() == id);
        } catch (const std::system_error &e) {
            CHECK(!ran);
            w.is_over(-e.code().value());
        }
        break;
    }
    default: {
        if (!chance(6))
            break;
        std::atomic<bool> ran = false;
        fin::thread t([&ran] {
            fin_sleep(FIN_US);
            ran = true;
        });
        w.is_over(co_await co::ended(t));
        t.join();
        CHECK(ran);
    }
    }
    may_throw();
}

// The same with the stack of whoever calls it.
inline void wait(block_model &b) {
    wait_model w(b);
    message m;
    switch (below(WAITS)) {
    case 0:
        fin_yield();
        break;
    case 1:
        w.is_over(fin_sleep(some_time(b)));
        break;
    case 2: {
        unsigned i = below(2);
        std::unique_lock hold(common->locks[i], std::defer_lock);
        if (chance(2)) {
            hold.lock();
        } else {
            if (!w.is_over(common->locks[i].lock_cancellable()))
                break;
            hold = std::unique_lock(common->locks[i], std::adopt_lock);
        }
        holds here_on(i);
        may_throw();
        fin_sleep(short_time());
        break;
    }
    case 3: {
        if (!w.is_over(common->slots.acquire_cancellable()))
            break;
        std::unique_ptr<fin::semaphore, void (*)(fin::semaphore *)> post(&common->slots, [](auto *s) { s->release(); });
        among slot(common->in_slots, 2);
        may_throw();
        fin_yield();
        break;
    }
    case 4: {
        std::unique_lock hold(common->m);
        common->wanted_tokens++;
        int error = common->changed.wait_cancellable(hold, [] { return common->tokens > 0; });
        if (error == 0)
            CHECK(common->tokens-- > 0);
        else if (!w.is_over(error))
            common->wanted_tokens--;
        break;
    }
    case 5: {
        uint64_t count = some_count();
        if (w.is_over(fin_event_await(&common->event, count)))
            CHECK(fin_event_read(&common->event) >= count);
        break;
    }
    case 6: {
        in_line line;
        line.had_turn = w.is_over(fin_queue_await_turn(&common->queue, &line.entry));
        if (!line.had_turn)
            break;
        among turn(common->at_turn, 1);
        may_throw();
        fin_yield();
        break;
    }
    case 7: {
        parked p;
        own->parked_here.push_back(&p);
        fin_suspend(&p.awe);
        CHECK(p.woken);
        break;
    }
    case 8: {
        own->wanted++;
        auto n = fin_chan_recv(own->from[1], &m, sizeof m);
        if (w.is_over(n))
            received(m, static_cast<int>(n));
        else
            own->wanted--;
        break;
    }
    case 9:
        m.set(++own->numbers);
        own->sum_to += m.number;
        if (!w.is_over(fin_chan_send(own->to[0], &m, m.size())))
            own->sum_to -= m.number;
        break;
    case 10:
        own->wanted_events++;
        if (w.is_over(fin_waitset_dispatch(own->set)))
            own->dispatched++;
        else
            own->wanted_events--;
        break;
    case 11: {
        char c;
        own->wanted_bytes++;
        if (w.is_over(fin_recv(own->sockets[1], &c, 1, 0)))
            own->bytes -= c;
        else
            own->wanted_bytes--;
        break;
    }
    case 12: {
        m.set(1 + below(100));
        uint32_t n = m.number;
        auto size = fin_rpc_call(chance(2) ? own->local[0] : own->to_next, &m, m.size(), &m, sizeof m);
        if (w.is_over(size)) {
            m.check(size);
            CHECK_EQ(m.number, 3 * n + 1);
        }
        break;
    }
    default: {
        bool ran = false, throws = chance(4);
        int id = new_id();
        try {
            object back = fin::offload([&ran, throws, o = object(id)] {
                ran = true;
                if (throws)
                    throw_it(o.what());
                return o;
            });
            CHECK(!throws && back.what() == id);
        } catch (const thrown &t) {
            CHECK(throws && t.what.what() == id);
        } catch (const std::system_error &e) {
            CHECK(!ran);
            w.is_over(-e.code().value());
        }
    }
    }
    may_throw();
}

#endif
