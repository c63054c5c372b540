// SPDX-License-Identifier: BSD-2-Clause
// Programs of the core language on Fin. A program becomes a row of instructions, which functions with real finish blocks and
// asyncs go through. Its operations wait, and a scheduler decides by a seed which of them the devices do next, which are
// cancelled where somebody asked for that, and which AWE runs on next: what the semantics leaves open.
#ifndef FIN_MODELS_AC_MACHINE_HPP
#define FIN_MODELS_AC_MACHINE_HPP

#include <fin.hpp>

#include "programs.hpp"

namespace ac {

// How a program ends: with skip, or with operations that nothing will ever do; or not, as far as one cares to wait.
struct Outcome {
    Store sigma{};
    Buffers beta{};
    unsigned waiting = 0;
    bool finished = false, endless = false;
    bool operator==(const Outcome &o) const {
        return sigma == o.sigma && beta == o.beta && waiting == o.waiting && finished == o.finished && endless == o.endless;
    }
    std::string text() const;
};

Outcome outcome_of(const Commands &commands, const State &final);

enum class Op : uint8_t { End, Assign, Unless, Jump, Async, Pool, Cancel, Io, Try };
struct Instruction {
    Op op;
    Command c;       // its operands
    uint32_t target; // Unless, Jump, Try: where to go on. Async, Pool: behind the body
};
std::vector<Instruction> compile(const Commands &commands, Id c);

// A thread that schedules AWEs for others.
class Helper {
public:
    Helper();
    ~Helper();
    void schedule(fin_awe *first, fin_awe *second);

private:
    static void *run(void *helper);
    pthread_t thread;
    uint32_t posted = 0;
    fin_awe *todo[2];
};

class Machine {
public:
    enum { MOST_STEPS = 2000 };
    // Lazy and eager asyncs; both; or those of fin::scope, whose bodies wait now with a stack and now with a continuation.
    enum How { Lazy, Eager, Mixed, Explicit, HowEnd };
    Machine(const std::vector<Instruction> &code, const State &first, uint64_t seed, How how, Helper *helper);
    Outcome run();

private:
    struct Operation;
    struct Rest;
    void pool(uint32_t at, bool shielded);
    void written_pool(uint32_t at);
    void scope_pool(fin::scope &scope, uint32_t at, bool body);
    void operate_without_stack(const Rest &rest, const Instruction &i);
    static void go_on(void *rest, int result);
    bool step(const Instruction &i, uint32_t &at);
    bool operate(const Instruction &i);
    bool eager() { return how == Eager || (how == Mixed && random.below(2)); }

    bool can(const Operation &o) const;
    void device(Operation &o);
    void take_off(const Operation &o);
    void resume(Operation &o);
    bool schedule();
    void scheduler();
    void give_up(bool endless);

    const std::vector<Instruction> &code;
    Store sigma;
    Buffers beta;
    Random random;
    How how;
    Helper *helper;
    std::vector<Operation *> operations;
    Outcome outcome;
    bool queued = false;  // an AWE that has not run yet
    unsigned went_on = 0; // AWEs without a stack, which run without the scheduler where they are cancelled
    bool finished = false, given_up = false;
};

} // namespace ac
#endif
