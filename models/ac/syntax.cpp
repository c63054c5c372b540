// SPDX-License-Identifier: BSD-2-Clause
#include "syntax.hpp"

namespace ac {

static uint32_t hash(const Command &c) {
    uint64_t h = static_cast<uint64_t>(c.kind) | static_cast<uint64_t>(c.io) << 4 | static_cast<uint64_t>(c.flag) << 8 |
                 static_cast<uint64_t>(c.x) << 9 | static_cast<uint64_t>(c.r) << 13 | static_cast<uint64_t>(c.e.x) << 17 |
                 static_cast<uint64_t>(c.e.v) << 21 | static_cast<uint64_t>(c.b.less) << 25 |
                 static_cast<uint64_t>(c.b.x) << 26 | static_cast<uint64_t>(c.b.v) << 30;
    h = (h ^ (static_cast<uint64_t>(c.left) << 40) ^ c.right) * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 29) ^ c.left) * 0xbf58476d1ce4e5b9u;
    return static_cast<uint32_t>(h >> 32);
}

void Commands::clear() {
    all.clear();
    places.assign(256, NONE);
    all.emplace_back(); // NONE
    make(two(Kind::Skip, NONE, NONE));
    make(two(Kind::Cancel, NONE, NONE));
}

Id Commands::make(const Command &c) {
    if (all.size() * 2 > places.size()) {
        places.assign(places.size() * 2, NONE);
        for (Id id = 1; id < all.size(); id++) {
            uint32_t i = hash(all[id]);
            while (places[i & (places.size() - 1)] != NONE)
                i++;
            places[i & (places.size() - 1)] = id;
        }
    }
    for (uint32_t i = hash(c);; i++) {
        Id &place = places[i & (places.size() - 1)];
        if (place == NONE) {
            place = static_cast<Id>(all.size());
            all.push_back(c);
            return place;
        }
        if (all[place] == c)
            return place;
    }
}

Command Commands::two(Kind k, Id c, Id d) {
    Command n;
    n.kind = k;
    n.left = c;
    n.right = d;
    return n;
}

Id Commands::pool(bool cancelled, Id cs, bool shielded) {
    Command n = two(Kind::Pool, cs, NONE);
    n.x = shielded;
    n.flag = cancelled;
    return make(n);
}

Id Commands::assign(uint8_t x, Number e) {
    Command n = two(Kind::Assign, NONE, NONE);
    n.x = x;
    n.e = e;
    return make(n);
}

Id Commands::send(Number e, uint8_t r) {
    Command n = two(Kind::Send, NONE, NONE);
    n.e = e;
    n.r = r;
    return make(n);
}

Id Commands::recv(uint8_t x, uint8_t r) {
    Command n = two(Kind::Recv, NONE, NONE);
    n.x = x;
    n.r = r;
    return make(n);
}

Id Commands::try_else(Id io, Id d) {
    Command n = all[io];
    n.io = n.kind;
    n.kind = Kind::Try;
    n.left = d;
    return make(n);
}

Id Commands::if_else(Condition b, Id c, Id d) {
    Command n = two(Kind::If, c, d);
    n.b = b;
    return make(n);
}

Id Commands::while_do(Condition b, Id c) {
    Command n = two(Kind::While, c, NONE);
    n.b = b;
    return make(n);
}

Id Commands::add(Id cs, Id c) {
    if (cs == NONE || c <= all[cs].left)
        return make(two(Kind::Bag, c, cs));
    return make(two(Kind::Bag, all[cs].left, add(all[cs].right, c)));
}

Id Commands::remove(Id cs, Id c) {
    if (all[cs].left == c)
        return all[cs].right;
    return make(two(Kind::Bag, all[cs].left, remove(all[cs].right, c)));
}

Id Commands::with(Id c, Id left, Id right) {
    Command n = all[c];
    if (n.kind == Kind::Bag)
        return add(right, left);
    n.left = left;
    n.right = right;
    return make(n);
}

bool Commands::has(Id c, Kind k) const {
    return c != NONE && (all[c].kind == k || has(all[c].left, k) || has(all[c].right, k));
}

unsigned Commands::size(Id c) const {
    if (c == NONE)
        return 0;
    bool counts = all[c].kind != Kind::Seq && all[c].kind != Kind::Bag;
    return counts + size(all[c].left) + size(all[c].right);
}

static std::string name(uint8_t x) { return std::string(1, static_cast<char>('x' + x)); }
static std::string channel(uint8_t r) { return std::string(1, static_cast<char>('r' + r)); }

static std::string text_of(Number e) {
    if (e.x == VARIABLES)
        return std::to_string(e.v);
    return e.v ? name(e.x) + " + " + std::to_string(e.v) : name(e.x);
}

static std::string text_of(Condition b) { return name(b.x) + (b.less ? " < " : " = ") + std::to_string(b.v); }

static std::string io_text(const Command &c, Kind io) {
    if (io == Kind::Send)
        return "send " + text_of(c.e) + " to " + channel(c.r);
    return "recv " + name(c.x) + " from " + channel(c.r);
}

std::string Commands::text(Id id) const {
    const Command &c = all[id];
    switch (c.kind) {
    case Kind::None:
        return "";
    case Kind::Skip:
        return "skip";
    case Kind::Assign:
        return name(c.x) + " := " + text_of(c.e);
    case Kind::Seq:
        return text(c.left) + "; " + text(c.right);
    case Kind::If:
        return "if " + text_of(c.b) + " then (" + text(c.left) + ") else (" + text(c.right) + ")";
    case Kind::While:
        return "while " + text_of(c.b) + " do (" + text(c.left) + ")";
    case Kind::Async:
        return "async (" + text(c.left) + ")";
    case Kind::Pool:
        return std::string(c.x ? "shielded " : "") + "pool " + (c.flag ? "CNCL" : "ACTV") + " {" + text(c.left) + "}";
    case Kind::Cancel:
        return "cancel";
    case Kind::Send:
    case Kind::Recv:
        return io_text(c, c.kind);
    case Kind::Try:
        return "try " + io_text(c, c.io) + " else (" + text(c.left) + ")";
    case Kind::Bag:
        return text(c.left) + (c.right ? ", " + text(c.right) : "");
    }
    return "";
}

} // namespace ac
