// SPDX-License-Identifier: BSD-2-Clause
#include "programs.hpp"

#include <algorithm>

namespace ac {

static Number random_number(Random &r) {
    Number e;
    if (r.below(2))
        e.x = static_cast<uint8_t>(r.below(VARIABLES));
    e.v = static_cast<uint8_t>(r.below(3));
    return e;
}

static Condition random_condition(Random &r) {
    Condition b;
    b.less = r.below(2);
    b.x = static_cast<uint8_t>(r.below(VARIABLES));
    b.v = static_cast<uint8_t>(r.below(2) + b.less);
    return b;
}

static Id random_io(Commands &commands, Random &r) {
    auto channel = static_cast<uint8_t>(r.below(CHANNELS));
    if (r.below(2))
        return commands.send(random_number(r), channel);
    return commands.recv(static_cast<uint8_t>(r.below(VARIABLES)), channel);
}

static Id random_assign(Commands &commands, Random &r) {
    return commands.assign(static_cast<uint8_t>(r.below(VARIABLES)), random_number(r));
}

static Id random_leaf(Commands &commands, Random &r, Mix mix) {
    unsigned n = r.below(mix.io ? 16 : 6);
    if (n == 0)
        return commands.SKIP;
    if (n <= 2)
        return commands.CANCEL;
    if (n <= 5)
        return random_assign(commands, r);
    Id io = random_io(commands, r);
    return n <= 10 && mix.tries ? commands.try_else(io, random_assign(commands, r)) : io;
}

Id random_command(Commands &commands, Random &r, unsigned size, Mix mix) {
    if (size <= 1)
        return random_leaf(commands, r, mix);
    unsigned left = 1 + r.below(size - 1), n = r.below(20);
    auto part = [&](unsigned of) { return random_command(commands, r, of, mix); };
    if (n < 5)
        return commands.async(part(size - 1));
    if (n < 7)
        return commands.pool(false, commands.add(commands.NONE, part(size - 1)), mix.shields && r.below(4) == 0);
    if (n == 7)
        return commands.while_do(random_condition(r), part(size - 1));
    if (n == 8 && mix.tries && mix.io)
        return commands.try_else(random_io(commands, r), part(size - 1));
    Id c = part(left), d = part(size - left);
    return n == 9 ? commands.if_else(random_condition(r), c, d) : commands.seq(c, d);
}

namespace {

class Enumeration {
public:
    Enumeration(Commands &commands, Mix mix) : commands(commands), mix(mix) {}
    std::vector<Id> of_size(unsigned n) {
        for (unsigned i = static_cast<unsigned>(single.size()); i <= n; i++) {
            single.push_back(i == 0 ? std::vector<Id>() : i == 1 ? leaves() : composed(i));
            all.push_back(single[i]);
            for (unsigned k = 1; k < i; k++) // C; D with a C that is none
                for (Id c : single[k])
                    for (Id d : all[i - k])
                        all[i].push_back(commands.seq(c, d));
        }
        return all[n];
    }

private:
    std::vector<Id> leaves() {
        std::vector<Id> out = {commands.CANCEL, commands.assign(0, {VARIABLES, 1}), commands.assign(1, {0, 0})};
        if (mix.io)
            out.insert(out.end(), {commands.send({0, 0}, 0), commands.recv(1, 0)});
        return out;
    }
    std::vector<Id> composed(unsigned n) {
        std::vector<Id> out;
        for (Id c : all[n - 1]) {
            out.push_back(commands.async(c));
            out.push_back(commands.pool(false, commands.add(commands.NONE, c)));
            if (mix.shields)
                out.push_back(commands.pool(false, commands.add(commands.NONE, c), true));
            out.push_back(commands.while_do({true, 0, 1}, c));
            if (mix.io && mix.tries) {
                out.push_back(commands.try_else(commands.send({0, 0}, 0), c));
                out.push_back(commands.try_else(commands.recv(0, 0), c));
            }
        }
        for (unsigned k = 1; k + 1 < n; k++)
            for (Id c : all[k])
                for (Id d : all[n - 1 - k])
                    out.push_back(commands.if_else({false, 1, 0}, c, d));
        return out;
    }
    Commands &commands;
    Mix mix;
    std::vector<std::vector<Id>> single, all; // by size: without and with sequences
};

} // namespace

std::vector<Id> all_commands(Commands &commands, unsigned size, Mix mix) { return Enumeration(commands, mix).of_size(size); }

std::vector<Id> simpler(Commands &commands, Id id) {
    std::vector<Id> out;
    const Command c = commands[id];
    if (id == commands.NONE || id == commands.SKIP)
        return out;
    if (c.kind == Kind::Bag) {
        if (c.right != commands.NONE) // a pool of a program has something in it
            out.insert(out.end(), {c.right, commands.remove(id, commands[c.right].left)});
    } else {
        out.push_back(commands.SKIP);
        if (c.kind == Kind::Pool)
            out.push_back(commands[c.left].left);
        else
            for (Id inside : {c.left, c.right})
                if (inside != commands.NONE)
                    out.push_back(inside);
    }
    for (Id left : simpler(commands, c.left))
        out.push_back(commands.with(id, left, c.right));
    for (Id right : simpler(commands, c.right))
        out.push_back(commands.with(id, c.left, right));
    return out;
}

Id shrink(Commands &commands, Id c, const std::function<bool(Id)> &fails) {
    for (;;) {
        std::vector<Id> candidates = simpler(commands, c);
        auto smaller = std::find_if(candidates.begin(), candidates.end(), fails);
        if (smaller == candidates.end())
            return c;
        c = *smaller;
    }
}

State begin(Commands &commands, Id c) {
    State s;
    s.c = commands.pool(false, commands.add(commands.NONE, c));
    s.beta[0].push_left(1);
    return s;
}

} // namespace ac
