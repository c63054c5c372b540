// SPDX-License-Identifier: BSD-2-Clause
// The same programs in the semantics and on Fin: whatever order the scheduler chooses, the variables, the channels and what
// still waits at the end must be among the outcomes that the semantics allows. A program for which that is not so is shrunk
// and printed.
//
//     differential [option=value]...
//     programs=N     at random, each RUNS times                          default 2000
//     runs=N         different seeds of the scheduler a program          20
//     all=N          beforehand, all programs of up to N commands, each until every outcome allowed has turned up   3
//     size=N         of the random programs, at most                     14
//     seed=N         of the first program                                1
//     how=lazy, eager, mixed, explicit                                   all of them in turn
//     helper=0, 1    another thread schedules some of the AWEs           every 64th program
//     wrong=NAME     a rule of the semantics is wrong: a difference must be found; wrong=each: for each of them
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "machine.hpp"

using namespace ac;

namespace {

enum { MOST_STATES = 3000, MOST_RUNS = 20000, MOST_RUNS_WRONG = 300, SHRINK_RUNS = 300 };

struct Options {
    unsigned long programs = 2000, runs = 20, all = 3, size = 14, seed = 1;
    int how = -1, helper = -1;
    bool each_wrong = false;
    Wrong wrong = Wrong::Nothing;
};

struct Tally {
    size_t programs = 0, runs = 0, beyond = 0, allowed = 0, seen = 0, states = 0, incomplete = 0, endless = 0;
};

struct Trial {
    Commands &commands;
    Id program;
    std::vector<Outcome> allowed;
    std::vector<bool> seen;
    std::vector<Instruction> code;
    bool beyond = false, endless = false;

    Trial(Commands &commands, Id program, Wrong wrong, Tally &t) : commands(commands), program(program) {
        Semantics rules(commands, wrong);
        for (const State &s : rules.final_states(begin(commands, program), MOST_STATES)) {
            Outcome o = outcome_of(commands, s);
            if (index(o) == allowed.size())
                allowed.push_back(o);
        }
        beyond = rules.beyond;
        endless = rules.endless;
        t.states += rules.explored;
        seen.resize(allowed.size());
        code = compile(commands, program);
    }
    size_t index(const Outcome &o) const {
        size_t i = 0;
        while (i < allowed.size() && !(allowed[i] == o))
            i++;
        return i;
    }
    // False: the outcome is none of those allowed.
    bool run(uint64_t seed, Machine::How how, Helper *helper, Outcome *o) {
        *o = Machine(code, begin(commands, program), seed, how, helper).run();
        size_t i = index(*o);
        if (i < allowed.size())
            seen[i] = true;
        return i < allowed.size() || (o->endless && endless);
    }
    size_t count_seen() const {
        size_t n = 0;
        for (bool s : seen)
            n += s;
        return n;
    }
};

Machine::How how_of(const Options &options, uint64_t run) {
    return static_cast<Machine::How>(options.how >= 0 ? options.how : static_cast<int>(run % Machine::HowEnd));
}

void report(Commands &commands, const Options &options, Id program, uint64_t seed, Helper *helper) {
    Tally none;
    Outcome o;
    uint64_t found = seed;
    auto fails = [&](Id c) {
        Trial t(commands, c, options.wrong, none);
        for (uint64_t i = 0; i < SHRINK_RUNS && !t.beyond; i++)
            if (!t.run(seed + i, how_of(options, seed + i), helper, &o)) {
                found = seed + i;
                return true;
            }
        return false;
    };
    Id least = shrink(commands, program, fails);
    if (!fails(least)) {
        printf("found once, and not again (seed %llu): %s\n", static_cast<unsigned long long>(seed),
               commands.text(program).c_str());
        return;
    }
    Trial t(commands, least, options.wrong, none);
    t.run(found, how_of(options, found), helper, &o);
    printf("%s\n    ended with %s (scheduler's seed %llu)\n", commands.text(begin(commands, least).c).c_str(),
           o.text().c_str(), static_cast<unsigned long long>(found));
    for (const Outcome &a : t.allowed)
        printf("    allowed    %s\n", a.text().c_str());
    if (t.endless)
        printf("    allowed    no end\n");
}

// False: a difference was found.
bool try_program(Commands &commands, Id program, const Options &options, uint64_t seed, bool all, Helper *helper,
                 Tally &tally) {
    Trial t(commands, program, options.wrong, tally);
    if (t.beyond) {
        tally.beyond++;
        return true;
    }
    Outcome o;
    size_t patience = options.wrong == Wrong::Nothing ? MOST_RUNS : MOST_RUNS_WRONG, most = all ? patience : options.runs;
    for (size_t i = 0; i < most && (!all || i < options.runs || t.count_seen() < t.allowed.size()); i++) {
        uint64_t s = seed * 1000003 + i;
        tally.runs++;
        if (!t.run(s, how_of(options, s), helper, &o)) {
            report(commands, options, program, s, helper);
            return false;
        }
        tally.endless += o.endless;
    }
    tally.programs++;
    tally.allowed += t.allowed.size();
    tally.seen += t.count_seen();
    if (all && t.count_seen() < t.allowed.size()) {
        if (tally.incomplete++)
            return true;
        printf("never seen on Fin: an outcome of %s\n", commands.text(program).c_str());
        for (size_t i = 0; i < t.allowed.size(); i++)
            printf("    %s %s\n", t.seen[i] ? "seen     " : "not seen ", t.allowed[i].text().c_str());
    }
    return true;
}

void print(const char *what, const Tally &t) {
    printf("%s: %zu programs, %zu runs; %zu of %zu outcomes seen; %zu states explored; %zu runs without end, as they may "
           "be; %zu "
           "programs too large to explore\n",
           what, t.programs, t.runs, t.seen, t.allowed, t.states, t.endless, t.beyond);
}

bool enumerated(const Options &options) {
    Tally t;
    for (unsigned size = 1; size <= options.all; size++) {
        Commands commands;
        for (Id c : all_commands(commands, size, {}))
            if (!try_program(commands, c, options, options.seed + c, true, nullptr, t))
                return false;
    }
    if (options.all)
        print("all small ones", t);
    return t.incomplete == 0;
}

bool at_random(const Options &options, Helper &helper) {
    Commands commands;
    Tally t;
    for (uint64_t i = 0; i < options.programs; i++) {
        Random r{options.seed + i};
        commands.clear();
        Id c = random_command(commands, r, 1 + r.below(options.size), {});
        bool help = options.helper < 0 ? i % 64 == 63 : options.helper != 0;
        if (!try_program(commands, c, options, options.seed + i, false, help ? &helper : nullptr, t))
            return false;
        if ((i + 1) % 100000 == 0)
            print("so far", t), fflush(stdout);
    }
    if (options.programs)
        print("at random", t);
    return true;
}

bool same_on_both(const Options &options, Helper &helper) { return enumerated(options) && at_random(options, helper); }

// What a check is worth: for each rule made wrong, it finds a program that behaves differently.
bool found_each(Options options, Helper &helper) {
    options.all = 2;
    options.programs = 20000;
    for (int i = 1; i < static_cast<int>(Wrong::EnumEnd); i++) {
        options.wrong = static_cast<Wrong>(i);
        printf("%s is wrong:\n", wrong_names[i]);
        if (same_on_both(options, helper)) {
            printf("no difference found\n");
            return false;
        }
    }
    return true;
}

Wrong wrong_of(const char *name) {
    for (int i = 0; i < static_cast<int>(Wrong::EnumEnd); i++)
        if (strcmp(name, wrong_names[i]) == 0)
            return static_cast<Wrong>(i);
    fprintf(stderr, "no such rule: %s\n", name);
    exit(2);
}

bool number_option(Options &o, const std::string &name, unsigned long n) {
    const struct {
        const char *name;
        unsigned long *n;
    } numbers[] = {{"programs", &o.programs}, {"runs", &o.runs}, {"all", &o.all}, {"size", &o.size}, {"seed", &o.seed}};
    for (const auto &number : numbers)
        if (name == number.name)
            return *number.n = n, true;
    return false;
}

Options options_of(int argc, char **argv) {
    Options o;
    if (getenv("FIN_FEW")) {
        o.programs = 200;
        o.all = 2;
    }
    for (int i = 1; i < argc; i++) {
        std::string option(argv[i]), name = option.substr(0, option.find('=')), value = option.substr(name.size());
        value.erase(0, 1);
        if (number_option(o, name, strtoul(value.c_str(), NULL, 0)))
            continue;
        if (name == "helper")
            o.helper = value == "1";
        else if (name == "how")
            o.how = value == "lazy"       ? Machine::Lazy
                    : value == "eager"    ? Machine::Eager
                    : value == "explicit" ? Machine::Explicit
                                          : Machine::Mixed;
        else if (option == "wrong=each")
            o.each_wrong = true;
        else if (name == "wrong")
            o.wrong = wrong_of(value.c_str());
        else {
            fprintf(stderr, "%s: what is %s?\n", argv[0], argv[i]);
            exit(2);
        }
    }
    return o;
}

} // namespace

int main(int argc, char **argv) {
    Options options = options_of(argc, argv);
    Helper helper;
    if (options.each_wrong)
        return found_each(options, helper) ? 0 : 1;
    bool same = same_on_both(options, helper);
    if (options.wrong == Wrong::Nothing)
        return same ? 0 : 1;
    if (same)
        printf("no difference found, although %s is wrong\n", wrong_names[static_cast<size_t>(options.wrong)]);
    return same ? 1 : 0;
}
