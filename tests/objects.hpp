// SPDX-License-Identifier: BSD-2-Clause
// Objects of random programs in C++: each ends once, where it began, and none is used after its move; copies may throw, of
// some kinds moves, too, and what is thrown says of which object. And what is by chance.
#ifndef FIN_TESTS_OBJECTS_HPP
#define FIN_TESTS_OBJECTS_HPP

#include <atomic>
#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <unistd.h>

#include "check.h"
#include "valgrind.h"

inline unsigned seed; // of this round
[[noreturn]] __attribute__((noinline, cold)) inline void not_so(const char *file, int line, const char *what, long long is) {
    fprintf(stderr, "%s:%d: not so: %s (%lld): FIN_SEED=%u FIN_ROUNDS=1\n", file, line, what, is, seed);
    abort();
}
#undef CHECK
#undef CHECK_EQ
#define CHECK(condition) ((condition) ? (void)0 : not_so(__FILE__, __LINE__, #condition, 0))
#define CHECK_OF(r, condition) ((condition) ? (void)0 : not_so(__FILE__, __LINE__, #condition, r))
#define CHECK_EQ(a, b)                                                                                                      \
    ([](long long is, long long should) {                                                                                   \
        if (is != should)                                                                                                   \
            not_so(__FILE__, __LINE__, #a " == " #b, is);                                                                   \
    }(static_cast<long long>(a), static_cast<long long>(b)))

inline thread_local uint64_t chances = 1;
inline unsigned below(unsigned n) {
    chances ^= chances << 13;
    chances ^= chances >> 7;
    chances ^= chances << 17;
    return static_cast<unsigned>((chances >> 11) % n);
}
inline bool chance(unsigned one_in) { return below(one_in) == 0; }

inline std::atomic<int> alive, ids;
inline int new_id() { return ++ids; }

// Do copies throw in this thread? In threads of the pool nobody would know.
inline thread_local bool refuses = false;

template <bool moves> class basic_object;
using object = basic_object<true>;   // its move does not throw
using brittle = basic_object<false>; // its move may

template <bool moves> class basic_object {
public:
    explicit basic_object(int what = new_id()) : what_(what) { alive++; }
    basic_object(const basic_object &o) : what_(o.what()) {
        may_refuse(what_);
        alive++;
    }
    basic_object(basic_object &&o) noexcept(moves) : what_(o.what()) {
        if (!moves)
            may_refuse(what_);
        o.what_ = MOVED;
        alive++;
    }
    basic_object &operator=(basic_object &&o) noexcept {
        CHECK(self_ == this && &o != this);
        what_ = o.what();
        o.what_ = MOVED;
        return *this;
    }
    ~basic_object() {
        CHECK(self_ == this);
        self_ = nullptr;
        alive--;
    }
    int what() const {
        CHECK(self_ == this && what_ != MOVED);
        return what_;
    }
    bool is_moved() const {
        CHECK(self_ == this);
        return what_ == MOVED;
    }
    // An exception that says of which object.
    static void may_refuse(int what);

private:
    enum { MOVED = -1 };
    basic_object *volatile self_ = this;
    int what_;
};

inline std::atomic<int> in_flight;
struct thrown {
    int of;
    object what; // an exception is an object, too
    explicit thrown(int of) : of(of) { in_flight++; }
    thrown(const thrown &t) : of(t.of) { CHECK(false); } // made where it is thrown
    ~thrown() { in_flight--; }
};

[[noreturn]] inline void throw_it(int of) { throw thrown(of); }
inline void may_throw(int of, unsigned one_in = 12) {
    if (refuses && chance(one_in))
        throw_it(of);
}
template <bool moves> void basic_object<moves>::may_refuse(int what) { may_throw(what); }

// ---- rounds: FIN_SEED=n FIN_ROUNDS=n in the environment

inline void hangs(int) {
    char text[64];
    int n = snprintf(text, sizeof text, "hangs: FIN_SEED=%u FIN_ROUNDS=1\n", seed);
    (void)!write(2, text, static_cast<size_t>(n));
    abort();
}
template <class Round> void rounds(unsigned usual, Round round) {
    const char *first = getenv("FIN_SEED"), *many = getenv("FIN_ROUNDS");
    unsigned few = ON_TSAN || getenv("FIN_FEW") ? usual / 20 : usual;
    unsigned n = many ? static_cast<unsigned>(atoi(many)) : RUNNING_ON_VALGRIND ? 2 : few;
    seed = first ? static_cast<unsigned>(atoi(first)) : 1;
    signal(SIGALRM, hangs);
    for (; n-- > 0; seed++) {
        alarm(60);
        chances = seed * 0x9e3779b97f4a7c15u + 1;
        round();
        alarm(0);
        if (alive != 0 || in_flight != 0) {
            fprintf(stderr, "FIN_SEED=%u: %d objects are left, %d exceptions\n", seed, alive.load(), in_flight.load());
            _Exit(1);
        }
    }
}

#endif
