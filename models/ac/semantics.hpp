// SPDX-License-Identifier: BSD-2-Clause
// The operational semantics of AC (ac 3, figure 5), rule by rule with the paper's names.
#ifndef FIN_MODELS_AC_SEMANTICS_HPP
#define FIN_MODELS_AC_SEMANTICS_HPP

#include "syntax.hpp"

namespace ac {

// sigma: the values of the variables.
using Store = std::array<uint8_t, VARIABLES>;

// beta of one channel: its values, the left end first. A message longer than this is outside what is explored.
struct Buffer {
    enum { MOST = 6 };
    uint8_t count = 0;
    std::array<uint8_t, MOST> values{}; // zero beyond count, so that equal buffers are equal bytes
    bool operator==(const Buffer &o) const { return count == o.count && values == o.values; }
    bool push_left(uint8_t v);
    bool pop_right(uint8_t *v);
};
using Buffers = std::array<Buffer, CHANNELS>;

// A state of the top-level transitions.
struct State {
    Store sigma{};
    Buffers beta{};
    Id c = Commands::SKIP;
    bool operator==(const State &o) const { return sigma == o.sigma && beta == o.beta && c == o.c; }
};

// The current pool of an evaluation, "pool f CS".
struct Pool {
    bool cancelled = false;
    Id cs = Commands::NONE;
    bool operator==(const Pool &o) const { return cancelled == o.cancelled && cs == o.cs; }
};

// States, each once, in the order in which they came.
class States {
public:
    States() : places(256, 0) {}
    size_t add(const State &s); // its index, new or old
    size_t size() const { return all.size(); }
    const State &operator[](size_t i) const { return all[i]; }

private:
    std::vector<State> all;
    std::vector<uint32_t> places; // hash table of indices plus one
};

// What an evaluation begins and ends with.
struct Config {
    Store sigma{};
    Pool p;
    Id c = Commands::SKIP;
    bool operator==(const Config &o) const { return sigma == o.sigma && p == o.p && c == o.c; }
};

// Rules made wrong, each in one place: what a check is worth shows when it finds them.
enum class Wrong {
    Nothing,
    AsyncLater,    // Async-1: the body is put into the pool and the owner goes on first
    AsyncBlocks,   // Async-2: the whole async blocks where its body does
    AsyncDropped,  // Async: in a cancelled pool the body does not run
    CancelOutward, // Pool-2, Pool-3: a pool that was cancelled cancels the pool around it
    CancelInward,  // T-Try-Cancel: only where the innermost pool is cancelled
    CancelAlways,  // T-Try-Cancel: in any context
    CancelAndDo,   // T-Try-Cancel: the operation happens, too
    NoCompletion,  // T-Try-IO: not in a cancelled context
    PoolLeaks,     // Pool-3: the pool ends with the first command that does
    ShieldIgnored, // the context of a shielded pool's commands is a cancelled one where that around the pool is
    EnumEnd,
};
extern const char *const wrong_names[];

uint8_t value(const Store &sigma, Number e);
bool value(const Store &sigma, Condition b);

// Evaluation can go on for ever (`while`), and states can be more than one wants to see: then `beyond` is set, and not all
// comes out.
class Semantics {
public:
    explicit Semantics(Commands &commands, Wrong wrong = Wrong::Nothing) : commands(commands), wrong(wrong) {}
    bool beyond = false;

    // The big-step relation: all results of evaluating s.c in s.p.
    std::vector<Config> evaluate(const Config &s);
    // The top-level transitions, but for those that lead to the same state.
    std::vector<State> transitions(const State &s);
    // All states that can be reached and from which no transition leads elsewhere. Sets `endless` where transitions lead
    // around in a circle: a program may also never end.
    std::vector<State> final_states(const State &s, size_t most);
    bool endless = false;
    size_t explored = 0; // states seen by that, all in all

private:
    void evaluate(const Config &s, std::vector<Config> &out);
    void evaluate_seq(const Config &s, Id c, Id d, std::vector<Config> &out);
    void evaluate_async(const Config &s, std::vector<Config> &out);
    void evaluate_pool(const Config &s, std::vector<Config> &out);
    void io(const State &s, bool cancelled, std::vector<State> &out);
    bool perform(const Command &c, Kind io, State &s);

    Commands &commands;
    Wrong wrong;
    unsigned depth = 0, work = 0;
};

} // namespace ac
#endif
