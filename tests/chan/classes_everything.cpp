// SPDX-License-Identifier: BSD-2-Clause
// Random programs of the C++ classes of messages: channels, what is read and written in place, listeners, calls, waitsets
// and their sources, in several threads, with stacks and in coroutines, in blocks that are cancelled at random, or left by
// exceptions. Each message arrives once and in order, each call has its answer, each event is told, each client is answered;
// each program ends in a phase, some consist of nothing else, in which nothing is cancelled and no timer runs: what is not
// told hangs.
#include <functional>

#include "classes_everything_calls.hpp"

static std::vector<std::unique_ptr<stream>> streams;
static std::vector<std::unique_ptr<service>> services;
static std::vector<std::unique_ptr<watch>> watches;
static std::vector<std::unique_ptr<watched>> all_watched;
static std::unique_ptr<house> home;

struct plan { // of a thread: what it starts, and in what order
    std::vector<std::function<void(fin::scope &)>> starts;
    uint64_t chances;
};

// An object whose end comes, by an exception or not, while what has begun in the same function must end first.
static void leaves_early() {
    brittle b;
    int what = b.what(), told = 0;
    throws_of(what, [&] {
        auto ends = fin::chan::pair();
        fin::chan a(std::move(ends.first)), c(std::move(ends.second));
        fin::waitset set;
        auto other = fin::chan::pair();
        auto handler = [&, b] {
            CHECK_EQ(b.what(), what);
            item i;
            while (other.second.try_recv(i) == 0)
                told++;
            pause_here();
        };
        CHECK_EQ(set.add(other.second, handler), 0);
        fin::waitset_source source(set, handler);
        fin_finish {
            fin_async {
                item i;
                int r;
                while ((r = a.recv(i)) == 0)
                    ;
                CHECK_OF(r, r == -ECANCELED || r == -ESHUTDOWN);
            };
            fin_async {
                int r;
                while ((r = set.dispatch()) == 0)
                    ;
                CHECK_OF(r, r == -ECANCELED || r == -ESHUTDOWN);
            };
            fin_async {
                brittle own(b);
                CHECK_EQ(other.first.send_nc(item{1, 2}), 0);
                source.trigger();
                pause_here();
                may_throw(what, 2);
            };
            if (chance(2))
                CHECK_EQ(c.send_nc(item{1, 2}), 0);
            pause_here();
            may_throw(what, 2);
            c = fin::chan();
            set.shutdown();
        }
    });
}

static void start_stream(std::vector<plan> &plans) {
    int senders = static_cast<int>(1 + below(4)), receivers = static_cast<int>(1 + below(2));
    unsigned from = below(static_cast<unsigned>(plans.size())), to = below(static_cast<unsigned>(plans.size()));
    bool shared = chance(2), local = from == to && chance(2);
    if (local)
        shared = false;
    streams.push_back(std::make_unique<stream>(
        senders, receivers == 1,
        fin_chan_options{chance(2) ? 4096u : 0u,
                         (shared ? 1u : 0u) * FIN_CHAN_SHARED | (local ? 1u : 0u) * FIN_CHAN_LOCAL}));
    stream *s = streams.back().get();
    for (int i = 0; i < senders; i++) {
        int n = static_cast<int>(1 + below(12));
        auto &p = plans[shared ? below(static_cast<unsigned>(plans.size())) : from];
        if (chance(2))
            p.starts.push_back([=](fin::scope &scope) { scope.async(sends_co(*s, i, n)); });
        else
            p.starts.push_back([=](fin::scope &scope) { scope.async([=] { sends(*s, i, n); }); });
    }
    for (int i = 0; i < receivers; i++) {
        auto &p = plans[shared ? below(static_cast<unsigned>(plans.size())) : to];
        if (chance(2))
            p.starts.push_back([=](fin::scope &scope) { scope.async(receives_co(*s)); });
        else
            p.starts.push_back([=](fin::scope &scope) { scope.async([=] { receives(*s); }); });
    }
}

static void start_service(std::vector<plan> &plans) {
    int callers = static_cast<int>(1 + below(4));
    unsigned from = below(static_cast<unsigned>(plans.size())), to = below(static_cast<unsigned>(plans.size()));
    services.push_back(std::make_unique<service>(
        callers, fin_chan_options{chance(2) ? 4096u : 0u, (from == to && chance(2) ? 1u : 0u) * FIN_CHAN_LOCAL}));
    service *s = services.back().get();
    if (chance(2))
        plans[to].starts.push_back([=](fin::scope &scope) { scope.async(serves_co(*s)); });
    else
        plans[to].starts.push_back([=](fin::scope &scope) { scope.async([=] { serves(*s); }); });
    if (s->both)
        plans[from].starts.push_back([=](fin::scope &scope) { scope.async([=] { serves_back(*s); }); });
    for (int i = 0; i < callers; i++) {
        int n = static_cast<int>(1 + below(8));
        if (chance(2))
            plans[from].starts.push_back([=](fin::scope &scope) { scope.async(calls_co(*s, n)); });
        else
            plans[from].starts.push_back([=](fin::scope &scope) { scope.async([=] { calls(*s, n); }); });
    }
}

static void start_watch(std::vector<plan> &plans) {
    unsigned threads = static_cast<unsigned>(plans.size());
    int channels = static_cast<int>(1 + below(4)), sources = static_cast<int>(below(3));
    watches.push_back(std::make_unique<watch>(channels + sources));
    watch *w = watches.back().get();
    if (watches.size() == 2)
        watches[0]->other = w, w->other = watches[0].get();
    for (int i = 0; i < channels; i++) {
        all_watched.push_back(std::make_unique<watched>(*w, fin_chan_options{chance(2) ? 4096u : 0u, 0}));
        watched *c = all_watched.back().get();
        int n = static_cast<int>(below(10));
        plans[below(threads)].starts.push_back([=](fin::scope &scope) { scope.async([=] { sends(*c, n); }); });
    }
    for (int i = 0; i < sources; i++)
        plans[below(threads)].starts.push_back([=](fin::scope &scope) { scope.async([=] { triggers(*w); }); });
    for (unsigned n = 1 + below(4); n > 0; n--) {
        if (chance(2))
            plans[below(threads)].starts.push_back([=](fin::scope &scope) { scope.async(dispatches_co(*w)); });
        else
            plans[below(threads)].starts.push_back([=](fin::scope &scope) { scope.async([=] { dispatches(*w); }); });
    }
}

// The threads with acceptors wait for the last client, and cancel them.
static fin::task<> accept_until_through() {
    co::finish block;
    for (unsigned n = 1 + below(2); n > 0; n--) {
        if (chance(2))
            block.async(accepts_co(*home));
        else
            block.async([] { accepts(*home); });
    }
    co_await co::await_nc(home->through, 1);
    block.cancel();
    co_await block.end();
}
static void start_house(std::vector<plan> &plans) {
    unsigned threads = static_cast<unsigned>(plans.size());
    int clients = static_cast<int>(1 + below(4));
    home = std::make_unique<house>("@fin-classes-" + std::to_string(getpid()), clients,
                                   fin_chan_options{chance(2) ? 4096u : 0u, 0});
    for (unsigned n = 1 + below(2); n > 0; n--)
        plans[below(threads)].starts.push_back([=](fin::scope &scope) { scope.async(accept_until_through()); });
    for (int i = 0; i < clients; i++)
        plans[below(threads)].starts.push_back([=](fin::scope &scope) { scope.async([] { visits(*home); }); });
}

static void run(const plan &p) {
    chances = p.chances;
    refuses = true;
    fin::finish([&](fin::scope &s) {
        for (auto &start : p.starts)
            start(s);
        if (chance(3))
            leaves_early();
    });
    refuses = false;
    struct fin_stats stats;
    fin_stats(&stats);
    CHECK_EQ(stats.stacks_used, 1); // the scheduler's
}

static void round() {
    calm = chance(3);
    std::vector<plan> plans(1 + below(3));
    for (unsigned n = below(4); n > 0; n--)
        start_stream(plans);
    for (unsigned n = below(3); n > 0; n--)
        start_service(plans);
    for (unsigned n = below(3); n > 0; n--)
        start_watch(plans);
    if (chance(2))
        start_house(plans);
    for (plan &p : plans) {
        p.chances = chances * 77 + below(1000) + 1;
        for (size_t i = p.starts.size(); i > 1; i--)
            std::swap(p.starts[i - 1], p.starts[below(static_cast<unsigned>(i))]);
    }
    {
        std::vector<fin::thread> others;
        for (size_t i = 1; i < plans.size(); i++)
            others.emplace_back(run, std::cref(plans[i]));
        run(plans[0]);
    }
    for (auto &s : streams)
        s->check();
    for (auto &w : all_watched)
        CHECK(w->ended);
    CHECK(!home || home->answered >= home->asked);
    streams.clear();
    services.clear();
    all_watched.clear();
    watches.clear();
    home = nullptr;
}

int main() {
    rounds(240, round);
    return 0;
}
