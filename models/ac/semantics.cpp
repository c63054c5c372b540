// SPDX-License-Identifier: BSD-2-Clause
#include "semantics.hpp"

#include <algorithm>

namespace ac {

const char *const wrong_names[] = {"nothing",        "async-later",   "async-blocks",  "async-dropped",
                                   "cancel-outward", "cancel-inward", "cancel-always", "cancel-and-do",
                                   "no-completion",  "pool-leaks",    "shield-ignored"};
static_assert(sizeof wrong_names / sizeof *wrong_names == static_cast<size_t>(Wrong::EnumEnd), "a name each");

enum { MOST_DEPTH = 64, MOST_WORK = 500000 };

bool Buffer::push_left(uint8_t v) {
    if (count == MOST)
        return false;
    std::copy_backward(values.begin(), values.begin() + count, values.begin() + count + 1);
    values[0] = v;
    count++;
    return true;
}

bool Buffer::pop_right(uint8_t *v) {
    if (count == 0)
        return false;
    *v = values[--count];
    values[count] = 0;
    return true;
}

uint8_t value(const Store &sigma, Number e) {
    return static_cast<uint8_t>(((e.x < VARIABLES ? sigma[e.x] : 0) + e.v) % VALUES);
}

bool value(const Store &sigma, Condition b) { return b.less ? sigma[b.x] < b.v : sigma[b.x] == b.v; }

template <class T> static void add_new(std::vector<T> &set, const T &x) {
    if (std::find(set.begin(), set.end(), x) == set.end())
        set.push_back(x);
}

std::vector<Config> Semantics::evaluate(const Config &s) {
    std::vector<Config> out;
    evaluate(s, out);
    return out;
}

void Semantics::evaluate(const Config &s, std::vector<Config> &out) {
    if (depth == MOST_DEPTH || ++work > MOST_WORK) {
        beyond = true;
        return;
    }
    const Command c = commands[s.c]; // a copy: the table grows
    depth++;
    switch (c.kind) {
    case Kind::Skip:
    case Kind::Try:
    case Kind::Send:
    case Kind::Recv: // (Final)
        add_new(out, s);
        break;
    case Kind::Assign: { // (Assign)
        Config r = s;
        r.sigma[c.x] = value(s.sigma, c.e);
        r.c = Commands::SKIP;
        add_new(out, r);
        break;
    }
    case Kind::Seq: // (Seq-1), (Seq-2)
        evaluate_seq(s, c.left, c.right, out);
        break;
    case Kind::If: // (If-1), (If-2)
        evaluate({s.sigma, s.p, value(s.sigma, c.b) ? c.left : c.right}, out);
        break;
    case Kind::While:
        if (value(s.sigma, c.b)) // (While-1)
            evaluate_seq(s, c.left, s.c, out);
        else // (While-2)
            add_new(out, {s.sigma, s.p, Commands::SKIP});
        break;
    case Kind::Async: // (Async-1), (Async-2)
        evaluate_async(s, out);
        break;
    case Kind::Pool: // (Pool-1), (Pool-2), (Pool-3)
        evaluate_pool(s, out);
        break;
    case Kind::Cancel: // (Cancel)
        add_new(out, {s.sigma, {true, s.p.cs}, Commands::SKIP});
        break;
    case Kind::None:
    case Kind::Bag:
        break;
    }
    depth--;
}

void Semantics::evaluate_seq(const Config &s, Id c, Id d, std::vector<Config> &out) {
    for (const Config &r : evaluate({s.sigma, s.p, c})) {
        if (r.c == Commands::SKIP) // (Seq-1)
            evaluate({r.sigma, r.p, d}, out);
        else // (Seq-2)
            add_new(out, {r.sigma, r.p, commands.seq(r.c, d)});
    }
}

void Semantics::evaluate_async(const Config &s, std::vector<Config> &out) {
    Id body = commands[s.c].left;
    if (wrong == Wrong::AsyncLater) {
        add_new(out, {s.sigma, {s.p.cancelled, commands.add(s.p.cs, body)}, Commands::SKIP});
        return;
    }
    if (wrong == Wrong::AsyncDropped && s.p.cancelled) {
        add_new(out, {s.sigma, s.p, Commands::SKIP});
        return;
    }
    for (const Config &r : evaluate({s.sigma, s.p, body})) {
        if (r.c == Commands::SKIP || wrong == Wrong::AsyncBlocks) // (Async-1)
            add_new(out, r);
        else // (Async-2)
            add_new(out, {r.sigma, {r.p.cancelled, commands.add(r.p.cs, r.c)}, Commands::SKIP});
    }
}

void Semantics::evaluate_pool(const Config &s, std::vector<Config> &out) {
    const Command pool = commands[s.c];
    if (pool.left == Commands::NONE) { // (Pool-1)
        add_new(out, {s.sigma, s.p, Commands::SKIP});
        return;
    }
    Id before = Commands::NONE;
    for (Id cs = pool.left; cs != Commands::NONE; cs = commands[cs].right) {
        Id c = commands[cs].left;
        if (c == before) // equal commands lie side by side
            continue;
        before = c;
        for (const Config &r : evaluate({s.sigma, {pool.flag, commands.remove(pool.left, c)}, c})) {
            Pool around = s.p;
            around.cancelled |= wrong == Wrong::CancelOutward && r.p.cancelled;
            if (r.c != Commands::SKIP) // (Pool-2)
                add_new(out, {r.sigma, around, commands.pool(r.p.cancelled, commands.add(r.p.cs, r.c), pool.x)});
            else if (wrong == Wrong::PoolLeaks)
                add_new(out, {r.sigma, around, Commands::SKIP});
            else // (Pool-3)
                evaluate({r.sigma, around, commands.pool(r.p.cancelled, r.p.cs, pool.x)}, out);
        }
    }
}

// (T-Send), (T-Recv) of an operation in the hole. False where none applies: nothing is there to receive.
bool Semantics::perform(const Command &c, Kind io, State &s) {
    if (io == Kind::Recv)
        return s.beta[c.r].pop_right(&s.sigma[c.x]);
    bool room = s.beta[c.r].push_left(value(s.sigma, c.e));
    beyond |= !room;
    return room;
}

// s.c is what stands in a context. All that it becomes by the rules about IO, in whatever hole inside it.
void Semantics::io(const State &s, bool cancelled, std::vector<State> &out) {
    const Command c = commands[s.c];
    std::vector<State> inside;
    State r = s;
    r.c = Commands::SKIP;
    bool reaches = wrong != Wrong::CancelInward && (!c.x || wrong == Wrong::ShieldIgnored); // from around a pool
    switch (c.kind) {
    case Kind::Seq: // E[] ; C
        io({s.sigma, s.beta, c.left}, cancelled, inside);
        for (const State &i : inside)
            out.push_back({i.sigma, i.beta, commands.seq(i.c, c.right)});
        break;
    case Kind::Pool: // pool f (E[] :: CS)
        for (Id cs = c.left, before = Commands::NONE; cs != Commands::NONE; cs = commands[cs].right) {
            Id of = commands[cs].left;
            if (of == before)
                continue;
            before = of;
            inside.clear();
            io({s.sigma, s.beta, of}, c.flag || (cancelled && reaches), inside);
            Id rest = commands.remove(c.left, of);
            for (const State &i : inside)
                out.push_back({i.sigma, i.beta, commands.pool(c.flag, commands.add(rest, i.c), c.x)});
        }
        break;
    case Kind::Send: // (T-Send)
    case Kind::Recv: // (T-Recv)
        if (perform(c, c.kind, r))
            out.push_back(r);
        break;
    case Kind::Try:
        if (!(wrong == Wrong::NoCompletion && cancelled) && perform(c, c.io, r)) // (T-Try-IO)
            out.push_back(r);
        if (cancelled || wrong == Wrong::CancelAlways) { // (T-Try-Cancel)
            r = s;
            if (wrong == Wrong::CancelAndDo)
                perform(c, c.io, r);
            r.c = c.left;
            out.push_back(r);
        }
        break;
    default:
        break;
    }
}

std::vector<State> Semantics::transitions(const State &s) {
    std::vector<State> out;
    if (s.c != Commands::SKIP) // (T-Eval); the current pool is not looked at
        for (const Config &r : evaluate(Config{s.sigma, {}, s.c}))
            add_new(out, {r.sigma, s.beta, r.c});
    std::vector<State> by_io;
    io(s, false, by_io);
    for (const State &r : by_io)
        add_new(out, r);
    out.erase(std::remove(out.begin(), out.end(), s), out.end());
    return out;
}

static size_t hash(const State &s) {
    uint64_t h = s.c;
    auto mix = [&h](uint64_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15u, h ^= h >> 31; };
    for (uint8_t v : s.sigma)
        mix(v);
    for (const Buffer &b : s.beta) {
        mix(b.count);
        for (uint8_t v : b.values)
            mix(v);
    }
    return h;
}

size_t States::add(const State &s) {
    if (all.size() * 2 >= places.size()) {
        places.assign(places.size() * 4, 0);
        for (size_t i = 0; i < all.size(); i++) {
            size_t at = hash(all[i]);
            while (places[at & (places.size() - 1)])
                at++;
            places[at & (places.size() - 1)] = static_cast<uint32_t>(i + 1);
        }
    }
    for (size_t at = hash(s);; at++) {
        uint32_t &place = places[at & (places.size() - 1)];
        if (place && all[place - 1] == s)
            return place - 1;
        if (!place) {
            all.push_back(s);
            place = static_cast<uint32_t>(all.size());
            return place - 1;
        }
    }
}

// Is there a circle? What nothing leads to is taken away until nothing is left, or all that is left has something before it.
static bool has_circle(const std::vector<std::vector<uint32_t>> &edges) {
    std::vector<uint32_t> before(edges.size(), 0), free;
    for (const auto &from : edges)
        for (uint32_t to : from)
            before[to]++;
    for (uint32_t i = 0; i < edges.size(); i++)
        if (before[i] == 0)
            free.push_back(i);
    for (size_t i = 0; i < free.size(); i++)
        for (uint32_t to : edges[free[i]])
            if (--before[to] == 0)
                free.push_back(to);
    return free.size() < edges.size();
}

std::vector<State> Semantics::final_states(const State &first, size_t most) {
    States seen;
    std::vector<State> out;
    std::vector<std::vector<uint32_t>> edges;
    seen.add(first);
    for (size_t i = 0; i < seen.size() && !beyond; i++) {
        std::vector<State> next = transitions(State(seen[i]));
        if (next.empty())
            out.push_back(seen[i]);
        edges.emplace_back();
        for (const State &n : next)
            edges.back().push_back(static_cast<uint32_t>(seen.add(n)));
        beyond |= seen.size() > most;
    }
    explored += seen.size();
    endless = !beyond && has_circle(edges);
    return out;
}

} // namespace ac
