// SPDX-License-Identifier: BSD-2-Clause
// Programs to try the semantics and the runtime on.
#ifndef FIN_MODELS_AC_PROGRAMS_HPP
#define FIN_MODELS_AC_PROGRAMS_HPP

#include <functional>

#include "semantics.hpp"

namespace ac {

// splitmix64: as good as needed, and cheap to start from any seed.
struct Random {
    uint64_t state;
    uint64_t next() {
        uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    unsigned below(size_t n) { return static_cast<unsigned>(next() % n); }
};

// What may occur in a program: operations at all; those that can be cancelled; pools that are shielded.
struct Mix {
    bool io = true, tries = true, shields = true;
};

// A command of about so many commands.
Id random_command(Commands &commands, Random &random, unsigned size, Mix mix);

// All commands of `size` commands over a few small ones.
std::vector<Id> all_commands(Commands &commands, unsigned size, Mix mix);

// Commands with one thing less, the simplest first.
std::vector<Id> simpler(Commands &commands, Id c);

// The simplest command found, by such steps, for which `fails` is still true.
Id shrink(Commands &commands, Id c, const std::function<bool(Id)> &fails);

// Where programs begin: pool ACTV {C}, variables 0, a message in channel r.
State begin(Commands &commands, Id c);

} // namespace ac
#endif
