// SPDX-License-Identifier: BSD-2-Clause
// Random programs of nested finish blocks, lazy and eager asyncs, yields, waits and cancels, against what must hold of all:
// a block ends after its bodies, a body starts at once, each body runs to its end exactly once, locals keep their values,
// and what waits inside a cancelled block is told so.
#include <cstring>
#include <random>
#include <vector>

#include <fin.hpp>

#include "check.h"

namespace {

struct State {
    std::mt19937 random;
    int budget = 0, started = 0, ended = 0;
    std::vector<fin_awe *> waiting;
    unsigned next(unsigned n) { return random() % n; }
};

struct Waiter {
    fin_awe *awe = nullptr;
    bool cancelled = false;
    State *state = nullptr;
};

bool forget(State &s, fin_awe *a) {
    for (auto &x : s.waiting)
        if (x == a) {
            x = s.waiting.back();
            s.waiting.pop_back();
            return true;
        }
    return false;
}

void cancel_wait(void *arg) {
    auto *w = static_cast<Waiter *>(arg);
    if (!forget(*w->state, w->awe))
        return; // woken before, and not run yet
    w->cancelled = true;
    CHECK_EQ(fin_schedule(w->awe), 0);
}

int wait_for_somebody(State &s) {
    if (fin_cancelled())
        return -ECANCELED;
    Waiter w;
    w.state = &s;
    fin_cancel_item item;
    fin_cancel_item_add(&item, cancel_wait, &w);
    fin_suspend_then(&w.awe, [](void *arg) {
        auto *waiter = static_cast<Waiter *>(arg);
        waiter->state->waiting.push_back(waiter->awe);
    }, &w);
    bool removed = fin_cancel_item_remove(&item);
    CHECK(removed || fin_cancelled());
    CHECK(!removed || !w.cancelled);
    return w.cancelled ? -ECANCELED : 0;
}

// Somebody who waits, now or later; false where nobody does.
bool wake_one(State &s) {
    if (s.waiting.empty())
        return false;
    unsigned i = s.next(s.waiting.size());
    fin_awe *a = s.waiting[i];
    s.waiting[i] = s.waiting.back();
    s.waiting.pop_back();
    if (s.next(2))
        CHECK_EQ(fin_yield_to(a), 0);
    else
        CHECK_EQ(fin_schedule(a), 0);
    return true;
}

void block(State &s, int depth);

void steps(State &s, int depth) {
    volatile unsigned canary[16];
    unsigned seed = s.random();
    for (unsigned i = 0; i < 16; i++)
        canary[i] = seed + i;
    for (unsigned n = s.next(6); n-- > 0;) {
        switch (s.next(6)) {
        case 0:
        case 1: fin_yield(); break;
        case 2: wake_one(s); break;
        case 3:
            if (!s.waiting.empty() || s.next(4) == 0)
                break;
            [[fallthrough]];
        case 4:
            if (s.waiting.size() < 3)
                CHECK((wait_for_somebody(s) == 0) || fin_cancelled());
            break;
        default:
            if (depth > 0 && s.budget > 0)
                block(s, depth - 1);
        }
        for (unsigned i = 0; i < 16; i++)
            CHECK_EQ(canary[i], seed + i);
    }
}

void block(State &s, int depth) {
    int mine = 0, began = 0;
    bool shielded = s.next(8) == 0;
    auto body = [&] {
        s.started++, began++;
        steps(s, depth);
        s.ended++, mine++;
    };
    fin_finish_as(all) {
        for (unsigned n = s.next(6); n-- > 0 && s.budget-- > 0;) {
            int before = began;
            switch (s.next(4)) {
            case 0:
                fin_async_eager { body(); };
                break;
            case 1:
                fin_async {
                    body();
                    fin_async { body(); };
                    fin_yield();
                };
                break;
            default:
                fin_async { body(); };
            }
            CHECK(began > before); // at once
            if (s.next(6) == 0)
                steps(s, depth - 1);
            if (s.next(12) == 0)
                fin_cancel_as(all);
        }
        if (shielded)
            fin_finish_nc { steps(s, depth - 1); }
    }
    CHECK_EQ(mine, began);
}

} // namespace

int main(int argc, char **argv) {
    const unsigned programs = FIN_SANITIZED ? 1000 : getenv("FIN_FEW") ? 5000 : 20000;
    unsigned first = argc > 1 ? atoi(argv[1]) : 1, count = argc > 2 ? atoi(argv[2]) : programs;
    long bodies = 0;
    for (unsigned seed = first; seed < first + count; seed++) {
        State s;
        s.random.seed(seed);
        s.budget = 60;
        bool done = false;
        fin_finish {
            fin_async { // wakes those who wait for somebody
                while (!done) {
                    wake_one(s);
                    fin_yield();
                }
            };
            block(s, 4);
            done = true;
        }
        CHECK_EQ(s.started, s.ended);
        CHECK(s.waiting.empty());
        CHECK(!fin_cancelled());
        bodies += s.ended;
        struct fin_stats stats;
        fin_stats(&stats);
        CHECK_EQ(stats.stacks_used, 1); // the scheduler's
    }
    CHECK(bodies > 5L * count || count < 100); // the programs are not trivial
    fprintf(stderr, "%ld bodies\n", bodies);
    return 0;
}
