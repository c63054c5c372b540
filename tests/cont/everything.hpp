// SPDX-License-Identifier: BSD-2-Clause
// What must hold of a random program of coroutine_everything.cpp: each object ends once, where it began; a wait is cancelled
// where its block or one around it was, or its time was over, and nowhere else; of the exceptions that leave what is in a
// block the documented one arrives; nothing outlives its block.
#ifndef FIN_TESTS_EVERYTHING_HPP
#define FIN_TESTS_EVERYTHING_HPP

#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include <fin/co_all.hpp>

#include "check.h"

namespace co = fin::co;

inline std::atomic<int> alive, ids;

// Knows where it is, and what it is: a copy of its bytes is none.
class object {
public:
    explicit object(int what) : what_(what) { alive++; }
    object(const object &o) : what_(o.what()) { alive++; }
    object(object &&o) noexcept : what_(o.what()) {
        o.what_ = -1;
        alive++;
    }
    object &operator=(const object &) = delete;
    ~object() {
        CHECK(self_ == this);
        self_ = nullptr;
        alive--;
    }
    int what() const {
        CHECK(self_ == this && what_ > 0);
        return what_;
    }

private:
    object *volatile self_ = this;
    int what_;
};

struct thrown {
    object what;
};

// What somebody throws, and whoever catches it knows.
[[noreturn]] inline void throw_it(int id) { throw thrown{object(id)}; }

struct block_model;

// A thread of the program.
struct world {
    uint64_t state;
    int budget = 400;
    bool done = false;
    std::vector<block_model *> blocks; // which somebody may cancel
    unsigned below(unsigned n) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<unsigned>((state >> 11) % n);
    }
    bool chance(unsigned one_in) { return below(one_in) == 0; }
};
inline thread_local world *here;
inline unsigned below(unsigned n) { return here->below(n); }
inline bool chance(unsigned one_in) { return here->chance(one_in); }

// A finish block, as the program knows it. It must exist until the block has ended.
struct block_model {
    block_model *parent;
    bool shielded = false, cancelled = false, is_late = false;
    uint64_t when = UINT64_MAX;
    int first = 0;  // the exception that left one of them
    int inside = 0; // bodies and tasks
    std::unique_ptr<fin::scope> scope;

    explicit block_model(block_model *parent) : parent(parent) {}
    block_model(const block_model &) = delete;
    ~block_model() {
        closed();
        CHECK_EQ(inside, 0);
    }

    void opened(const fin::scope &s) {
        scope = std::make_unique<fin::scope>(s);
        here->blocks.push_back(this);
    }
    void closed() {
        if (scope)
            std::erase(here->blocks, this);
        scope = nullptr;
    }
    void cancel() {
        cancelled = true;
        scope->cancel();
    }
    void failed(int id) {
        if (first == 0)
            first = id;
        cancelled = true;
    }

    bool is_cancelled() const {
        for (auto b = this; b; b = b->shielded ? nullptr : b->parent)
            if (b->cancelled)
                return true;
        return false;
    }
    // Is there a time for what waits here?
    bool ends_by_itself() const {
        for (auto b = this; b; b = b->shielded ? nullptr : b->parent)
            if (b->cancelled || b->when != UINT64_MAX)
                return true;
        return false;
    }
    // Something in the block was cancelled. Why?
    void explain() {
        if (is_cancelled())
            return;
        block_model *late = nullptr;
        int reasons = 0;
        uint64_t now = fin_now();
        for (auto b = this; b; b = b->shielded ? nullptr : b->parent)
            if (b->when <= now)
                late = b, reasons++;
        CHECK(reasons > 0);
        if (reasons == 1)
            late->is_late = true;
    }
    // At its end, without an exception.
    void ended(bool late) {
        CHECK_EQ(inside, 0);
        CHECK_EQ(first, 0);
        CHECK(!late || when <= fin_now());
        CHECK(late || !is_late);
        closed();
    }
    void ended_by(int id) {
        CHECK_EQ(inside, 0);
        CHECK_EQ(id, first);
        closed();
    }
};

// In front of a block that may be left without its end: what failed in it must be thrown then.
class leaves {
public:
    explicit leaves(block_model &b) : b_(b) {}
    ~leaves() {
        b_.closed();
        if (std::uncaught_exceptions() == before_)
            CHECK_EQ(b_.first, 0);
        CHECK_EQ(b_.inside, 0);
    }

private:
    block_model &b_;
    int before_ = std::uncaught_exceptions();
};

// A wait: what it gave is checked against what was known when it began.
class wait_model {
public:
    explicit wait_model(block_model &b) : b_(b), cancelled_(b.is_cancelled()) {}
    template <class Int> bool is_over(Int result) { // was it not cancelled?
        if (result == -ECANCELED)
            b_.explain();
        else
            CHECK(!cancelled_ && result >= 0);
        return result >= 0;
    }

private:
    block_model &b_;
    bool cancelled_;
};

// A body or task in a block, from the moment at which it is given to it. What leaves it, leaves it for the block.
class member {
public:
    explicit member(block_model &b) : b_(&b) { b.inside++; }
    member(member &&o) noexcept : b_(std::exchange(o.b_, nullptr)) {}
    ~member() {
        if (b_)
            b_->inside--;
    }
    block_model &block() const { return *b_; }

private:
    block_model *b_;
};

// What became of a call: told by the callee, and checked by the caller.
struct fate {
    int threw = 0, returned = 0;
    bool gone = false; // its frame
    void is(int threw_, int returned_) const {
        CHECK_EQ(threw, threw_);
        CHECK_EQ(returned, returned_);
        CHECK(gone);
    }
};

// A parameter of the callee.
class told {
public:
    told(fate &f) : f_(&f) {}
    told(told &&o) noexcept : f_(std::exchange(o.f_, nullptr)) {}
    ~told() {
        if (f_)
            f_->gone = true;
    }
    fate *operator->() const { return f_; }

private:
    fate *f_;
};

inline int new_id() { return ++ids; }

inline void may_throw(unsigned one_in = 40) {
    if (chance(one_in))
        throw_it(new_id());
}

#endif
