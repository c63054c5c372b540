// SPDX-License-Identifier: BSD-2-Clause
// Random programs of several threads, in which coroutines, functions with stacks and continuations start, await, cancel and
// wait for one another and for all that there is, and throw (everything.hpp: what must hold). Arguments: how many programs,
// a seed, how many threads.
#include <csignal>

#include "everything_calls.hpp"

// What a block has in it that is an object.
template <class Block> static fin::task<> in_object(block_model &b, Block &block, int depth, object given) {
    b.opened(block);
    fill(block, b, depth, given);
    if (chance(2))
        co_await waits(b);
    may_cancel();
}

// A block of fin::co. It ends by end(), or is left: then what left it itself counts, as with macros.
template <class Block, class... Time>
static fin::task<> with_object(block_model &parent, int depth, const object &given, bool shielded, Time... time) {
    int left_by = 0;
    block_model b(&parent);
    b.shielded = shielded;
    if constexpr (sizeof...(time) != 0)
        limit(b, (time, ...));
    try {
        ends_late before;
        leaves after(b);
        Block block(time...);
        try {
            co_await in_object(b, block, depth, given);
        } catch (const thrown &t) {
            left_by = t.what.what();
            b.cancelled = true;
            throw;
        }
        if (chance(5))
            co_return;
        bool late = co_await block.end();
        b.ended(late);
        if (chance(2))
            co_return;
        co_await waits(parent);
    } catch (const thrown &t) {
        if (left_by || b.first)
            CHECK_EQ(t.what.what(), left_by ? left_by : b.first);
        b.closed();
        throw;
    }
}

// A task of which is known when it ended.
template <class T> static fin::task<T> in_order(member m, bool any, std::vector<int> &order, int number, fin::task<T> t) {
    try {
        T got = co_await std::move(t);
        order.push_back(number);
        m.block().cancelled |= any;
        co_return got;
    } catch (const thrown &e) {
        m.block().failed(e.what.what());
        order.push_back(number);
        throw;
    }
}

static fin::task<> all_or_any(block_model &parent, int depth, const object &given) {
    block_model b(&parent);
    bool any = chance(2), many = chance(2);
    std::vector<int> order;
    fate f[3];
    int what[3];
    for (int &w : what)
        w = new_id();
    try {
        if (many) {
            std::vector<fin::task<object>> tasks;
            for (int i = 0; i < 3; i++)
                tasks.push_back(in_order(member(b), any, order, i, routine(b, depth, f[i], what[i], given)));
            if (any) {
                auto first = co_await co::when_any(std::move(tasks));
                CHECK_EQ(first.first, order[0]);
                CHECK_EQ(first.second.what(), what[order[0]]);
            } else {
                auto all = co_await co::when_all(std::move(tasks));
                for (int i = 0; i < 3; i++)
                    CHECK_EQ(all[static_cast<size_t>(i)].what(), what[i]);
            }
        } else {
            auto one = in_order(member(b), any, order, 0, routine(b, depth, f[0], what[0], given));
            auto two = in_order(member(b), any, order, 1, routine_of_pointer(b, depth, f[1], what[1]));
            if (any) {
                auto first = co_await co::when_any(std::move(one), std::move(two));
                CHECK_EQ(first.index(), order[0]);
                CHECK_EQ(first.index() == 0 ? std::get<0>(first).what() : std::get<1>(first)->what(), what[order[0]]);
            } else {
                auto [x, y] = co_await co::when_all(std::move(one), std::move(two));
                CHECK_EQ(x.what(), what[0]);
                CHECK_EQ(y->what(), what[1]);
            }
        }
        CHECK(any || b.first == 0);
    } catch (const thrown &t) {
        CHECK_EQ(t.what.what(), any ? f[order[0]].threw : b.first);
        throw;
    }
    CHECK_EQ(order.size(), many ? 3 : 2);
}

static fin::task<> subroutine(block_model &b, int depth, const object &given) {
    fate f;
    int what = new_id();
    object own_copy(given);
    switch (below(11)) {
    case 0:
        co_await with_object<co::finish>(b, depth, given, false);
        break;
    case 1:
        co_await with_object<co::finish_nc>(b, depth, given, true);
        break;
    case 2:
    case 3:
        co_await with_object<co::timeout, uint64_t>(b, depth, given, false, 0);
        break;
    case 4:
    case 5:
        co_await all_or_any(b, depth, given);
        break;
    case 6: {
        auto body = [&] {
            function(b, depth, f, own_copy);
            return pointer(new object(what));
        };
        try {
            pointer p = co_await co::with_stack(body);
            CHECK_EQ(p->what(), what);
        } catch (const thrown &t) {
            f.is(t.what.what(), 0);
            throw;
        }
        break;
    }
    case 7: {
        auto t = routine_of_pointer(b, depth, f, what), never = routine_of_pointer(b, depth, f, what);
        if (chance(2))
            std::swap(t, never);
        pointer p = co_await std::move(t);
        f.is(0, what);
        CHECK_EQ(p->what(), what);
        break;
    }
    case 8: {
        const object &same = co_await routine_of_reference(b, depth, f, own_copy);
        CHECK(&same == &own_copy);
        break;
    }
    default:
        co_await waits(b);
        may_cancel();
    }
    CHECK_EQ(own_copy.what(), given.what());
}

static fin::task<> tries(block_model &b, int depth, const object &given) {
    for (unsigned n = 1 + below(3); n-- > 0 && !(b.is_cancelled() && chance(2));) {
        try {
            object own_copy(given);
            ends_late late;
            if (depth <= 0 || here->budget-- <= 0)
                co_await waits(b);
            else
                co_await subroutine(b, depth - 1, own_copy);
        } catch (const thrown &) {
            if (!chance(4))
                throw;
        }
    }
}

fin::task<object> routine(block_model &b, int depth, told f, int what, object given) {
    try {
        co_await tries(b, depth, given);
    } catch (const thrown &t) {
        f->threw = t.what.what();
        throw;
    }
    f->returned = what;
    co_return object(what);
}
fin::task<pointer> routine_of_pointer(block_model &b, int depth, told f, int what) {
    object o(what);
    try {
        co_await tries(b, depth, o);
    } catch (const thrown &t) {
        f->threw = t.what.what();
        throw;
    }
    f->returned = what;
    co_return std::make_unique<object>(o);
}
fin::task<const object &> routine_of_reference(block_model &b, int depth, told f, const object &given) {
    try {
        co_await tries(b, depth, given);
    } catch (const thrown &t) {
        f->threw = t.what.what();
        throw;
    }
    f->returned = given.what();
    co_return given;
}

// Supplies what others wait for, now and then; in between all may be idle.
static fin::task<> supplies() {
    while (!here->done) {
        own->supply();
        co_await co::lock_nc(common->m);
        common->supply();
        common->m.unlock();
        co_await co::sleep(below(150) * FIN_US);
    }
}

static void run(uint64_t seed, int number, fin_chan *to_next, fin_chan *of_previous) {
    world w;
    w.state = seed + 0x9e3779b97f4a7c15u * static_cast<uint64_t>(number + 1);
    here = &w;
    {
        own_things things;
        own = &things;
        CHECK_EQ(fin_rpc_open(&things.to_next, to_next, FIN_RPC_CLIENT), 0);
        CHECK_EQ(fin_rpc_open(&things.of_previous, of_previous, 0), 0);
        fin::finish([&](fin::scope &s) {
            s.async(supplies());
            s.async_cont<hears>(new echo{things.asked[1], {}, {}});
            for (fin_rpc *r : {things.local[1], things.of_previous}) {
                if (chance(2))
                    s.async(serves(r));
                else
                    s.async([r] { serve(r); });
            }
            while (w.budget > 0) {
                fate f;
                int what = new_id();
                try {
                    block_model root(nullptr);
                    CHECK_EQ(fin::finish(routine(root, 7, f, what, object(new_id()))).what(), what);
                    f.is(0, what);
                } catch (const thrown &t) {
                    f.is(t.what.what(), 0);
                }
            }
            w.done = true;
            CHECK(w.blocks.empty() && things.parked_here.empty());
            CHECK_EQ(fin_rpc_close(things.local[0]) | fin_rpc_close(things.to_next) | fin_chan_close(things.asked[0]), 0);
        });
    }
    struct fin_stats stats;
    fin_stats(&stats);
    CHECK_EQ(stats.stacks_used, 1); // the scheduler's
}

static uint64_t program;

static void hangs(int) {
    char text[64];
    int n = snprintf(text, sizeof text, "program %" PRIu64 " hangs\n", program);
    (void)!write(2, text, static_cast<size_t>(n));
    abort();
}

int main(int argc, char **argv) {
    int programs = argc > 1 ? std::atoi(argv[1]) : ON_TSAN ? 3 : std::getenv("FIN_FEW") ? 15 : 60;
    uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 1;
    int threads = argc > 3 ? std::atoi(argv[3]) : 0;
    signal(SIGALRM, hangs);
    fin_offload_threads(2); // some wait for their turn
    for (program = first; program < first + static_cast<uint64_t>(programs); program++) {
        alarm(60);
        size_t n = threads ? static_cast<size_t>(threads) : 1 + program % 3;
        common_things things;
        common = &things;
        fin_chan *ends[3][2];
        for (size_t i = 0; i < n; i++)
            own_things::pair(ends[i], 0);
        {
            std::vector<fin::thread> others;
            for (size_t i = 1; i < n; i++)
                others.emplace_back(run, program, static_cast<int>(i), ends[i][0], ends[i - 1][1]);
            run(program, 0, ends[0][0], ends[n - 1][1]);
        }
        things.check_end();
        CHECK_EQ(alive, 0);
    }
    return 0;
}
