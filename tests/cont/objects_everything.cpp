// SPDX-License-Identifier: BSD-2-Clause
// Random programs of counted objects, whose copies and moves throw at random, in several threads, with stacks and without:
// they go through queues, asyncs, tasks, threads and offloaded calls, while these are cancelled; destructors wait. Each
// object ends once, each exception arrives where it belongs, each object that was pushed is popped; each program ends in a
// phase, some consist of nothing else, in which nothing is cancelled and no timer runs: what is not told hangs.
#include "objects_everything_tasks.hpp"

static std::vector<std::unique_ptr<line>> lines;

struct plan { // of a thread
    std::vector<std::pair<line *, int>> producers; // and their numbers
    std::vector<line *> consumers;
    std::vector<line *> closers;
    unsigned workers, sessions;
    uint64_t chances;
};

static fin::task<> works_co(unsigned n) {
    for (; n > 0; n--)
        co_await session_co();
}
static void works(unsigned n) {
    for (; n > 0; n--)
        session();
}

static void closes_early(line &l) {
    pause_here();
    pause_here();
    l.close();
}

static void start(fin::scope &s, const plan &p) {
    for (line *l : p.consumers) {
        if (chance(2))
            s.async(consumes_co(*l));
        else
            s.async([l] { consumes(*l); });
    }
    for (auto [l, number] : p.producers) {
        int n = static_cast<int>(1 + below(12));
        if (chance(2))
            s.async(produces_co(*l, number, n));
        else
            s.async([l = l, number = number, n] { produces(*l, number, n); });
    }
    for (line *l : p.closers)
        s.async([l] { closes_early(*l); });
    for (unsigned n = p.workers; n-- > 0;) {
        if (chance(2))
            s.async(works_co(p.sessions));
        else
            s.async([&p] { works(p.sessions); });
    }
}

static void run(const plan &p) {
    chances = p.chances;
    refuses = true;
    fin::finish([&](fin::scope &s) { start(s, p); });
    refuses = false;
    struct fin_stats stats;
    fin_stats(&stats);
    CHECK_EQ(stats.stacks_used, 1); // the scheduler's
}

static void round() {
    common_things things;
    common = &things;
    calm = chance(3);
    size_t threads = 1 + below(3);
    std::vector<plan> plans(threads);
    for (plan &p : plans) {
        p.chances = chances * 77 + below(1000) + 1;
        p.workers = below(4);
        p.sessions = 1 + below(10);
    }
    lines.clear();
    for (unsigned n = below(QUEUES + 1); n-- > 0;) {
        int producers = static_cast<int>(1 + below(5)), consumers = static_cast<int>(1 + below(3));
        lines.push_back(std::make_unique<line>(1 + below(3), producers, consumers == 1));
        if (chance(4))
            plans[below(static_cast<unsigned>(threads))].closers.push_back(lines.back().get());
        for (int i = 0; i < producers; i++)
            plans[below(static_cast<unsigned>(threads))].producers.emplace_back(lines.back().get(), i);
        for (int i = 0; i < consumers; i++)
            plans[below(static_cast<unsigned>(threads))].consumers.push_back(lines.back().get());
    }
    {
        std::vector<fin::thread> others;
        for (size_t i = 1; i < threads; i++)
            others.emplace_back(run, std::cref(plans[i]));
        run(plans[0]);
    }
    for (auto &l : lines)
        l->check();
    lines.clear();
    CHECK_EQ(things.tokens, things.given_up);
}

int main() {
    fin_offload_threads(2); // some wait for their turn
    rounds(600, round);
    return 0;
}
