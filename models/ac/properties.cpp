// SPDX-License-Identifier: BSD-2-Clause
// The three properties that the paper states of its semantics (ac 3), on programs of up to some commands, all of them, and
// on larger ones at random: in every state that a program reaches, of every transition from it. With a rule made wrong, the
// one that guards against it must fail.
//
//     properties [SIZE [COUNT [SEED]]]       default: all of up to 3 commands, and 1,000 at random
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "programs.hpp"

using namespace ac;

namespace {

enum { MOST_STATES = 500 };

// ae(C): ae(async C) = ae(C).  ce(C): ce(cancel) = skip, ce(pool f CS) = pool CNCL ce(CS).
Id elided(Commands &commands, Id id, bool async) {
    if (id == commands.NONE)
        return id;
    const Command c = commands[id];
    Id left = elided(commands, c.left, async), right = elided(commands, c.right, async);
    if (async && c.kind == Kind::Async)
        return left;
    if (!async && c.kind == Kind::Cancel)
        return commands.SKIP;
    if (!async && c.kind == Kind::Pool)
        return commands.pool(true, left, c.x);
    return commands.with(id, left, right);
}

bool leads_to(Semantics &rules, const State &from, const State &to) {
    for (const State &s : rules.transitions(from))
        if (s == to)
            return true;
    if (from == to) // (T-Eval) of a command that is final
        for (const Config &r : rules.evaluate(Config{from.sigma, {}, from.c}))
            if (r.c == from.c && r.sigma == from.sigma)
                return true;
    return false;
}

bool elision_holds(Commands &commands, Semantics &rules, const State &s, const State &next, bool async) {
    State from = s, to = next;
    from.c = elided(commands, s.c, async);
    to.c = elided(commands, next.c, async);
    return leads_to(rules, from, to);
}

// If <sigma, p, pool f CS> => <sigma', p', C'> then p = p'.
bool pool_isolated(Commands &commands, Semantics &rules, const State &s) {
    Pool around[] = {{}, {true, commands.NONE}, {false, commands.add(commands.NONE, commands.CANCEL)}};
    for (const Pool &p : around)
        for (const Config &r : rules.evaluate(Config{s.sigma, p, s.c}))
            if (!(r.p == p))
                return false;
    return true;
}

struct Tally {
    size_t programs = 0, beyond = 0, states = 0, isolation = 0, async = 0, cancel = 0;
};

// The name of the property that fails, or NULL.
const char *check_state(Commands &commands, Semantics &rules, const State &s, const std::vector<State> &next, Tally &t) {
    t.isolation++;
    if (!pool_isolated(commands, rules, s))
        return "pool isolation";
    bool tries = commands.has(s.c, Kind::Try);
    bool io = tries || commands.has(s.c, Kind::Send) || commands.has(s.c, Kind::Recv);
    for (const State &n : next) {
        if (!io && (t.async++, !elision_holds(commands, rules, s, n, true)))
            return "asynchronous elision";
        if (!tries && (t.cancel++, !elision_holds(commands, rules, s, n, false)))
            return "cancellation elision";
    }
    return NULL;
}

const char *check(Commands &commands, const State &first, Wrong wrong, Tally &t) {
    Semantics rules(commands, wrong);
    States seen;
    seen.add(first);
    const char *failed = NULL;
    for (size_t i = 0; i < seen.size() && !rules.beyond && !failed; i++) {
        const State s = seen[i];
        if (s.c == commands.SKIP)
            continue;
        std::vector<State> next = rules.transitions(s);
        failed = check_state(commands, rules, s, next, t);
        for (const State &n : next)
            seen.add(n);
        rules.beyond |= seen.size() > MOST_STATES;
    }
    t.programs++;
    t.states += seen.size();
    t.beyond += rules.beyond;
    return rules.beyond ? NULL : failed;
}

// A multi-set of two or three commands in a pool with any flag: what a program becomes.
State random_state(Commands &commands, Random &r, unsigned size, Mix mix) {
    State s;
    Id cs = commands.NONE;
    for (unsigned n = 2 + r.below(2); n-- > 0;)
        cs = commands.add(cs, random_command(commands, r, size, mix));
    s.c = commands.pool(r.below(2), cs);
    s.beta[0].push_left(1);
    return s;
}

bool report(Commands &commands, const State &s, Wrong wrong, const char *failed) {
    Tally none;
    auto fails = [&](Id c) {
        State smaller = s;
        smaller.c = c;
        const char *also = commands[c].kind == Kind::Pool ? check(commands, smaller, wrong, none) : NULL;
        return also && strcmp(also, failed) == 0;
    };
    Id least = shrink(commands, s.c, fails);
    printf("%s does not hold (%s is wrong) of\n    %s\n", failed, wrong_names[static_cast<size_t>(wrong)],
           commands.text(least).c_str());
    return false;
}

constexpr Mix MIXES[] = {{false, false, false}, {true, false, false}, {true, true, false}};

bool exhaustive(unsigned size, Tally &t) {
    for (Mix mix : MIXES) {
        for (unsigned n = 1; n <= size + !mix.io; n++) {
            Commands commands;
            for (Id c : all_commands(commands, n, mix)) {
                State s = begin(commands, c);
                if (const char *failed = check(commands, s, Wrong::Nothing, t))
                    return report(commands, s, Wrong::Nothing, failed);
            }
        }
    }
    return true;
}

// The first property that fails, of all or of one; NULL for none.
const char *at_random(size_t count, uint64_t seed, Wrong wrong, Tally &t, const char *only = NULL) {
    Commands commands;
    for (size_t i = 0; i < count; i++) {
        Random r{seed + i};
        commands.clear();
        State s = random_state(commands, r, 2 + r.below(4), MIXES[i % 3]);
        const char *failed = check(commands, s, wrong, t);
        if (failed && (!only || strcmp(failed, only) == 0)) {
            report(commands, s, wrong, failed);
            return failed;
        }
    }
    return NULL;
}

// Each property is one that some wrong rule breaks.
bool each_can_fail(uint64_t seed) {
    const struct {
        Wrong wrong;
        const char *property;
    } cases[] = {{Wrong::CancelOutward, "pool isolation"},
                 {Wrong::AsyncLater, "asynchronous elision"},
                 {Wrong::AsyncDropped, "cancellation elision"}};
    for (const auto &c : cases) {
        Tally none;
        if (!at_random(20000, seed, c.wrong, none, c.property)) {
            printf("%s holds although %s is wrong\n", c.property, wrong_names[static_cast<size_t>(c.wrong)]);
            return false;
        }
    }
    return true;
}

} // namespace

int main(int argc, char **argv) {
    bool few = getenv("FIN_FEW");
    unsigned size = argc > 1 ? static_cast<unsigned>(atoi(argv[1])) : few ? 2 : 3;
    size_t count = argc > 2 ? strtoul(argv[2], NULL, 0) : few ? 100 : 1000;
    uint64_t seed = argc > 3 ? strtoul(argv[3], NULL, 0) : 1;
    Tally t;
    bool held = exhaustive(size, t);
    size_t enumerated = t.programs;
    held = held && !at_random(count, seed, Wrong::Nothing, t);
    printf("%zu programs enumerated, %zu at random, %zu too large to explore; %zu states; pool isolation seen in %zu, "
           "asynchronous elision %zu times, cancellation elision %zu times\n",
           enumerated, t.programs - enumerated, t.beyond, t.states, t.isolation, t.async, t.cancel);
    return held && t.async && t.cancel && each_can_fail(seed) ? 0 : 1;
}
