// SPDX-License-Identifier: BSD-2-Clause
// The functions with stacks of coroutine_everything.cpp, and what blocks have in them.
#ifndef FIN_TESTS_EVERYTHING_CALLS_HPP
#define FIN_TESTS_EVERYTHING_CALLS_HPP

#include "everything_steps.hpp"

using pointer = std::unique_ptr<object>;

fin::task<object> routine(block_model &b, int depth, told f, int what, object given);
fin::task<pointer> routine_of_pointer(block_model &b, int depth, told f, int what);
fin::task<const object &> routine_of_reference(block_model &b, int depth, told f, const object &given);

inline fin::task<> task_in(member m, int depth, object given);
inline void body_in(member m, int depth, const object &given);

// Cancels a block of this thread, wherever that is, or has something begin there.
inline void may_cancel() {
    if (here->blocks.empty() || !chance(12))
        return;
    block_model &b = *here->blocks[below(static_cast<unsigned>(here->blocks.size()))];
    switch (below(4)) {
    case 0:
    case 1:
        b.cancel();
        break;
    case 2:
        b.scope->async(task_in(member(b), 1, object(new_id())));
        break;
    default:
        b.scope->async([m = member(b), o = object(new_id())]() mutable { body_in(std::move(m), 1, o); });
    }
}

inline void limit(block_model &b, uint64_t &time) {
    time = below(chance(2) ? 100 : 1000) * FIN_US;
    b.when = fin_now() + time;
}

// What a block has in it. They end as they see fit; the block hears of what they throw.
inline fin::task<> task_in(member m, int depth, object given) {
    fate f;
    int what = new_id();
    try {
        object got = co_await routine(m.block(), depth, f, what, given);
        f.is(0, what);
        CHECK_EQ(got.what(), what);
    } catch (const thrown &t) {
        f.is(t.what.what(), 0);
        m.block().failed(t.what.what());
        throw;
    }
}

inline void body_in(member m, int depth, const object &given) {
    object own_copy(given);
    fate f;
    try {
        function(m.block(), depth, f, own_copy);
        f.is(0, 0);
    } catch (const thrown &t) {
        f.is(t.what.what(), 0);
        m.block().failed(t.what.what());
        throw;
    }
}

// Blocks at its end, whatever it ends by, and has work of its own there.
struct ends_late {
    ~ends_late() {
        switch (below(8)) {
        case 0:
            works();
            break;
        case 1:
        case 2:
        case 3:
            fin_sleep_nc(short_time());
            break;
        default:
            fin_yield();
        }
    }

private:
    static void works() {
        block_model b(nullptr);
        b.shielded = true;
        try {
            fin::finish_nc([&b](fin::scope &s) {
                b.opened(s);
                s.async(task_in(member(b), 1, object(new_id())));
                s.async([m = member(b), o = object(new_id())]() mutable { body_in(std::move(m), 1, o); });
            });
            b.ended(false);
        } catch (const thrown &t) {
            b.ended_by(t.what.what());
        }
    }
};

inline void fill(fin::scope &s, block_model &b, int depth, const object &given) {
    for (unsigned n = below(4); n-- > 0;) {
        switch (below(5)) {
        case 0:
        case 1:
            s.async(task_in(member(b), depth, given));
            break;
        case 2:
        case 3:
            s.async([m = member(b), depth, o = object(given)]() mutable { body_in(std::move(m), depth, o); });
            break;
        default:
            start_walkers(s, b);
        }
        may_cancel();
    }
    if (chance(25))
        b.cancel();
}

// The block of a function: which of the four it is.
template <class Body> void in_block(block_model &b, Body body) {
    uint64_t time;
    auto all = [&](fin::scope &s) {
        b.opened(s);
        try {
            body(s);
            may_throw(b.first ? 2 : 30);
        } catch (const thrown &t) {
            b.failed(t.what.what());
            throw;
        }
    };
    try {
        bool late = false;
        switch (below(4)) {
        case 0:
            fin::finish(all);
            break;
        case 1:
            b.shielded = true;
            fin::finish_nc(all);
            break;
        case 2:
            limit(b, time);
            late = fin::timeout(time, all);
            break;
        default:
            limit(b, time);
            late = fin::deadline(b.when, all);
        }
        b.ended(late);
    } catch (const thrown &t) {
        b.ended_by(t.what.what());
        throw;
    }
}

// A block of macros, in which an exception that leaves the block itself counts.
inline void in_macros(block_model &parent, int depth, const object &given) {
    block_model b(&parent);
    int left_by = 0;
    auto leave = [&](unsigned one_in) {
        if (!chance(one_in))
            return;
        left_by = new_id();
        b.cancelled = true;
        throw_it(left_by);
    };
    bool returns = chance(6), late = false, timed = chance(2);
    try {
        leaves after(b);
        if (!timed) {
            fin_finish {
                for (int i = 0; i < 3; i++) {
                    fin_async { body_in(member(b), depth, given); };
                    leave(30);
                    if (returns)
                        return;
                }
                fin_async_task(task_in(member(b), depth, given));
                if (chance(25)) {
                    b.cancelled = true;
                    fin_cancel();
                }
                leave(30);
            }
        } else {
            uint64_t time;
            limit(b, time);
            fin_timeout(time) {
                fin_async_eager { body_in(member(b), depth, given); };
                leave(30);
                fin_async {
                    body_in(member(b), depth, given);
                    fin_async { body_in(member(b), depth - 1, given); };
                };
                if (returns)
                    return;
                leave(30);
            }
            late = fin_timed_out();
        }
        CHECK_EQ(left_by, 0);
        b.ended(late);
    } catch (const thrown &t) {
        CHECK_EQ(t.what.what(), left_by ? left_by : b.first);
        b.closed();
        throw;
    }
}

inline void call(block_model &b, int depth, const object &given) {
    auto awaits = [&](auto &&task, fate &f, int what) {
        try {
            task();
            f.is(0, what);
        } catch (const thrown &t) {
            f.is(t.what.what(), 0);
            throw;
        }
    };
    fate f;
    int what = new_id();
    ends_late late;
    switch (below(9)) {
    case 0:
    case 1: {
        block_model inner(&b);
        in_block(inner, [&](fin::scope &s) {
            fill(s, inner, depth - 1, given);
            wait(inner);
        });
        break;
    }
    case 2:
        in_macros(b, depth - 1, given);
        break;
    case 3:
        awaits([&] { CHECK_EQ(fin::finish(routine(b, depth - 1, f, what, given)).what(), what); }, f, what);
        break;
    case 4:
        awaits([&] { CHECK_EQ(fin::finish(routine_of_pointer(b, depth - 1, f, what))->what(), what); }, f, what);
        break;
    case 5:
        awaits([&] { CHECK(&fin::finish(routine_of_reference(b, depth - 1, f, given)) == &given); }, f, given.what());
        break;
    case 6:
        try {
            awaits([&] { function(b, depth - 1, f, given); }, f, 0);
        } catch (const thrown &t) {
            fate second;
            fin_yield();
            awaits([&] { function(b, depth - 2, second, t.what); }, second, 0);
            if (chance(2))
                throw;
        }
        break;
    default:
        wait(b);
        may_cancel();
    }
}

inline void function(block_model &b, int depth, fate &f, const object &given) {
    int what = given.what();
    told t(f);
    try {
        object own_copy(given);
        for (unsigned n = 1 + below(2); n-- > 0;) {
            if (depth <= 0 || here->budget-- <= 0)
                wait(b);
            else
                call(b, depth, own_copy);
        }
        CHECK_EQ(own_copy.what(), what);
    } catch (const thrown &t) {
        f.threw = t.what.what();
        throw;
    }
}

#endif
