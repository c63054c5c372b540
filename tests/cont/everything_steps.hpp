// SPDX-License-Identifier: BSD-2-Clause
// The AWEs of coroutine_everything.cpp that wait with explicit continuations.
#ifndef FIN_TESTS_EVERYTHING_STEPS_HPP
#define FIN_TESTS_EVERYTHING_STEPS_HPP

#include "everything_waits.hpp"

struct walker {
    walker(member &&in, int left) : in(std::move(in)), left(left), what(new_id()), self(what) {}
    member in;
    int left, what;
    object self;
    int waited_for = -1; // what is waited for
    bool cancelled = false, shielded = false;
    uint64_t count = 0;
    uint32_t number = 0;
    parked park;
    message m;
    union {
        fin_on on;
        fin_sync_on sync;
        fin_chan_on chan;
        fin_rpc_on rpc;
    };

    // What the wait that is over gave.
    void take(int result) {
        block_model &b = in.block();
        bool over = result != -ECANCELED;
        if (!over) {
            CHECK(!shielded);
            b.explain();
        } else {
            CHECK(result >= 0 && !(cancelled && !shielded && waited_for > 0));
        }
        switch (waited_for) {
        case 2:
            if (over) {
                std::lock_guard unlock(common->locks[0], std::adopt_lock);
                holds hold(0);
                may_throw();
            }
            break;
        case 3:
            if (over) {
                { among slot(common->in_slots, 2); }
                common->slots.release();
            }
            break;
        case 4:
            CHECK(!over || fin_event_read(&common->event) >= count);
            break;
        case 5:
            std::erase(own->parked_here, &park);
            CHECK_EQ(over, park.woken);
            break;
        case 6:
            if (over)
                received(m, result);
            else
                own->wanted--;
            break;
        case 7:
            if (over) {
                m.check(result);
                CHECK_EQ(m.number, 3 * number + 1);
            }
            break;
        case 8:
            if (over)
                own->bytes -= m.more[0];
            else
                own->wanted_bytes--;
            break;
        case 9:
            if (!over)
                own->sum_to -= m.number;
            break;
        default:
            break;
        }
    }
    fin::next walk(int result);
};

void function(block_model &b, int depth, fate &f, const object &given);

inline void in_between(walker &w) {
    if (!chance(4))
        return;
    fate f;
    try {
        function(w.in.block(), 1, f, w.self);
        f.is(0, 0);
    } catch (const thrown &t) {
        f.is(t.what.what(), 0);
        throw;
    }
}

inline fin::next walker::walk(int result) {
    std::unique_ptr<walker> own_self(this); // ended by an exception, and at the end
    try {
        CHECK_EQ(self.what(), what);
        take(result);
        may_throw(60);
        in_between(*this);
        if (left-- == 0)
            return fin::end();
        block_model &b = in.block();
        own_self.release();
        cancelled = b.is_cancelled();
        shielded = false;
        waited_for = static_cast<int>(below(10));
        switch (waited_for) {
        case 0:
            return fin::yield_on<&walker::walk>(this);
        case 1:
            return fin::wait_on<&walker::walk, fin_sleep_on>(this, &on, some_time(b));
        case 2:
            shielded = chance(2);
            if (shielded)
                return fin::wait_on<&walker::walk, fin_mutex_lock_on_nc>(this, common->locks[0].native_handle(), &sync);
            return fin::wait_on<&walker::walk, fin_mutex_lock_on>(this, common->locks[0].native_handle(), &sync);
        case 3:
            return fin::wait_on<&walker::walk, fin_sem_wait_on>(this, common->slots.native_handle(), &sync);
        case 4:
            count = some_count();
            return fin::wait_on<&walker::walk, fin_event_await_on>(this, &common->event, count, &sync);
        case 5:
            park = parked();
            return fin::block_on_then<&walker::walk>(this, [this](fin_awe *a) {
                park.awe = a;
                own->parked_here.push_back(&park);
            });
        case 6:
            own->wanted++;
            return fin::wait_on<&walker::walk, fin_chan_recv_on>(this, own->from[1], &m, sizeof m, &chan);
        case 7:
            m.set(1 + below(100));
            number = m.number;
            return fin::wait_on<&walker::walk, fin_rpc_call_on>(this, chance(2) ? own->local[0] : own->to_next, &m, m.size(),
                                                               &m, sizeof m, &rpc);
        case 8:
            own->wanted_bytes++;
            return fin::wait_on<&walker::walk, fin_recv_on>(this, &on, own->sockets[1], m.more, 1, 0);
        default:
            m.set(++own->numbers);
            own->sum_to += m.number;
            return fin::wait_on<&walker::walk, fin_chan_send_on>(this, own->to[0], &m, m.size(), &chan);
        }
    } catch (const thrown &t) {
        in.block().failed(t.what.what());
        throw;
    }
}

inline fin::next begins(walker *&w, int) {
    std::unique_ptr<walker> first(w);
    if (chance(8))
        return fin::end();
    return fin::yield_on<&walker::walk>(first.release());
}

// Some AWEs that walk, in a block.
inline void start_walkers(fin::scope &s, block_model &b) {
    for (unsigned n = 1 + below(2); n-- > 0;)
        s.async_cont<begins>(new walker(member(b), static_cast<int>(below(6))));
}

#endif
