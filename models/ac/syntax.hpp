// SPDX-License-Identifier: BSD-2-Clause
// The core language of AC (ac 3, figure 5). A command is a number, its place in a table where equal commands share a place;
// so states compare and hash as a few words.
#ifndef FIN_MODELS_AC_SYNTAX_HPP
#define FIN_MODELS_AC_SYNTAX_HPP

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ac {

enum { VARIABLES = 3, CHANNELS = 2, VALUES = 8 };

using Id = uint32_t;

enum class Kind : uint8_t { None, Skip, Assign, Seq, If, While, Async, Pool, Cancel, Send, Recv, Try, Bag };

// NExp: v, x, or x + v modulo VALUES. No variable: `x` is VARIABLES.
struct Number {
    uint8_t x = VARIABLES, v = 0;
    bool operator==(const Number &o) const { return x == o.x && v == o.v; }
};

// BExp: x < v, or x = v.
struct Condition {
    bool less = false;
    uint8_t x = 0, v = 0;
    bool operator==(const Condition &o) const { return less == o.less && x == o.x && v == o.v; }
};

// What it means depends on the kind:
//     Assign x e     If b left right     While b left     Async left     Seq left right
//     Pool: `flag` is the paper's f, true for CNCL; left is a Bag, the multi-set CS, or NONE. With x it is shielded: a pool
//     that no cancellation around it reaches, what fin_finish_nc is. The paper has functions for that, and no rule.
//     Bag: left and the Bag `right`, in the order of their numbers
//     Send e to r     Recv x from r     Try (the same two; `io` says which) else left
struct Command {
    Kind kind = Kind::None, io = Kind::None;
    bool flag = false;
    uint8_t x = 0, r = 0;
    Number e;
    Condition b;
    Id left = 0, right = 0;
    bool operator==(const Command &o) const {
        return kind == o.kind && io == o.io && flag == o.flag && x == o.x && r == o.r && e == o.e && b == o.b &&
               left == o.left && right == o.right;
    }
};

class Commands {
public:
    enum : Id { NONE, SKIP, CANCEL };
    Commands() { clear(); }
    void clear();

    const Command &operator[](Id c) const { return all[c]; }
    Id make(const Command &c);
    Id seq(Id c, Id d) { return make(two(Kind::Seq, c, d)); }
    Id async(Id c) { return make(two(Kind::Async, c, NONE)); }
    Id pool(bool cancelled, Id cs, bool shielded = false);
    Id assign(uint8_t x, Number e);
    Id send(Number e, uint8_t r);
    Id recv(uint8_t x, uint8_t r);
    Id try_else(Id io, Id d); // io: a send or a recv
    Id if_else(Condition b, Id c, Id d);
    Id while_do(Condition b, Id c);

    // The multi-set: C::CS, and CS without its element C.
    Id add(Id cs, Id c);
    Id remove(Id cs, Id c);

    // The same command with other commands inside; those of a Bag are sorted again.
    Id with(Id c, Id left, Id right);
    // Does a command of this kind occur in c?
    bool has(Id c, Kind k) const;
    unsigned size(Id c) const; // how many commands
    std::string text(Id c) const;

private:
    static Command two(Kind k, Id c, Id d);
    std::vector<Command> all;
    std::vector<Id> places; // hash table
};

} // namespace ac
#endif
