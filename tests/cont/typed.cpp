// SPDX-License-Identifier: BSD-2-Clause
// Continuations in C++: a step returns what comes next, so that all of its frames have ended when the AWE waits. Typed
// state, closures, operations, locks and finish blocks that a step opened, exceptions that leave one, and what is refused.
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>

#include <fin.hpp>

#include "process.h"

struct walk {
    int at, to;
    std::string *path;
};

static fin::next walks(walk &w, int result) {
    CHECK_EQ(result, 0);
    *w.path += std::to_string(w.at) + " ";
    if (w.at++ == w.to)
        return fin::end();
    return fin::yield_on<walks>(w);
}

static fin::next ends(int &, int result) {
    LOG("%d ", result);
    return fin::end();
}

static fin::next waits(int &n, int) {
    CHECK((fin_cont_of(fin_awe_self()) == fin::continuation<waits, int>));
    return fin::block_on<ends>(n);
}

static fin::next throws(int &n, int) {
    if (n == 0)
        throw std::runtime_error("left a continuation");
    n--;
    return fin::yield_on<throws>(n);
}

// What a step owns it has given back when its AWE waits, and a block that it leaves has ended.
struct owner {
    fin::mutex *lock;
    int *alive, *done;
};

struct counted {
    int &n;
    explicit counted(int &count) : n(count) { n++; }
    counted(const counted &) = delete;
    ~counted() { n--; }
};

static fin::next owns_again(owner &o, int result) {
    CHECK_EQ(result, 0);
    CHECK_EQ(*o.alive, 0);
    CHECK_EQ(*o.done, 2);
    CHECK(o.lock->try_lock());
    o.lock->unlock();
    return fin::end();
}

static fin::next deeper(owner &o) {
    counted here(*o.alive);
    std::lock_guard hold(*o.lock);
    fin_finish {
        fin_async {
            fin_yield();
            ++*o.done;
        };
        return fin::yield_on<owns_again>(o); // the block's work is waited for before
    }
    __builtin_unreachable();
}

static fin::next owns(owner &o, int) {
    counted here(*o.alive);
    std::string text(100, 'x');
    try {
        throw std::runtime_error(text);
    } catch (const std::runtime_error &) { // from a catch clause too: the exception is over before the AWE waits
        fin::finish([&](fin::scope &s) {
            s.async([&] {
                fin_yield();
                ++*o.done;
            });
        });
        return deeper(o);
    }
}

// A lock that no object unlocks.
static fin_mutex bare;

static fin::next keeps_a_lock(int &n, int) {
    fin_mutex_lock(&bare);
    return fin::block_on<ends>(n);
}

static fin::next hears_why(int &, int result) {
    LOG("%d ", result);
    return fin::end();
}

// Refused for another reason: the continuation has the result at once.
static fin::next is_refused(int &n, int) {
    return fin::switch_context<hears_why>(n, fin_awe_self());
}

// Its state lies where the next wait puts its own.
static fin::next last(int &n, int result) {
    CHECK_EQ(result, 0);
    LOG("%d ", n);
    return fin::end();
}

static fin::next closures(int &n, int) {
    int twice = 2 * n;
    return fin::yield_on([n, twice](int result) {
        CHECK_EQ(result, 0);
        return fin::block_on([sum = n + twice, n](int why) {
            CHECK_EQ(why, -ECANCELED);
            LOG("%d ", sum);
            return fin::yield_on<last>(n);
        });
    });
}

// An operation, with a named step and with a closure.
struct sleeper {
    fin_on on;
    int slept;
};

static fin::next sleeps(sleeper *&s, int result) {
    CHECK_EQ(result, 0);
    if (s->slept++ < 3)
        return fin::wait_on<sleeps, fin_sleep_on>(s, &s->on, uint64_t(1000));
    return fin::wait_on<fin_sleep_on>([s](int why) {
        CHECK_EQ(why, -ECANCELED);
        s->slept = -1;
        return fin::end();
    }, &s->on, UINT64_MAX);
}

// To another that waits, past the queue.
static fin_awe *waiting;

static fin::next is_switched_to(int &n, int result) {
    LOG("%d,%d ", n, result);
    return fin::end();
}

static fin::next makes_itself_known(int &n, int) {
    waiting = fin_awe_self();
    return fin::block_on<is_switched_to>(n);
}

static fin::next switches(int &n, int) { return fin::switch_context<ends>(n, waiting); }

static void check_steps() {
    std::string path;
    int alive = 0, done = 0;
    fin::mutex lock;
    sleeper s{};
    fin::finish([&](fin::scope &scope) {
        CHECK(scope.async_cont<walks>(walk{1, 3, &path}) != nullptr);
        CHECK(scope.async_cont<walks>(walk{7, 8, &path}) != nullptr);
        CHECK(scope.async_cont<owns>(owner{&lock, &alive, &done}) != nullptr);
    });
    CHECK(path == "1 7 2 8 3 ");
    CHECK_EQ(alive, 0);
    CHECK_EQ(done, 2);
    fin::finish([&](fin::scope &scope) {
        CHECK(scope.async_cont<sleeps>(&s) != nullptr);
        while (s.slept < 4)
            fin_sleep(FIN_MS);
        scope.cancel();
    });
    CHECK_EQ(s.slept, -1);
    fin::finish([&](fin::scope &scope) {
        CHECK(scope.async_cont<makes_itself_known>(5) != nullptr);
        fin_yield();
        CHECK(scope.async_cont<switches>(6) != nullptr);
        fin_yield();
        scope.cancel();
    });
    CHECK_LOG("5,0 -125 ");
}

static void check_refused() {
    check_log[0] = 0;
    bool thrown = false;
    try {
        fin::finish([&](fin::scope &scope) { CHECK(scope.async_cont<keeps_a_lock>(5) != nullptr); });
    } catch (const std::system_error &e) {
        thrown = e.code().value() == EBUSY;
    }
    CHECK(thrown);
    fin_mutex_unlock(&bare);
    fin::finish([&](fin::scope &scope) { CHECK(scope.async_cont<is_refused>(5) != nullptr); });
    CHECK_LOG("-22 ");
}

static void check_exceptions() {
    for (int i = 0; i < 3; i++) {
        check_log[0] = 0;
        bool thrown = false;
        try {
            fin_finish {
                int two = 2;
                CHECK(fin_async_cont((fin::continuation<waits, int>), &two, sizeof two) != nullptr);
                CHECK(fin_async_cont((fin::continuation<throws, int>), &two, sizeof two) != nullptr);
            }
        } catch (const std::runtime_error &e) {
            thrown = strcmp(e.what(), "left a continuation") == 0;
        }
        CHECK(thrown);
        CHECK_LOG("-125 "); // it cancelled the other
    }
}

// The functions of C in a catch clause: the exception would be lost with the frame.
static void waits_in_a_catch_clause(void *, int) {
    try {
        throw 1;
    } catch (int) {
        CHECK_EQ(fin_block_on(waits_in_a_catch_clause, nullptr, 0), -EBUSY);
        CHECK_EQ(fin_call_continuation(waits_in_a_catch_clause, 0), -EBUSY);
    }
    fin_cont_end();
}

static void ends_in_a_catch_clause(void *, int) {
    try {
        throw 1;
    } catch (int) {
        fin_cont_end(); // the next of the thread would have it as its own
    }
}

static void run_ending_in_a_catch_clause() {
    fin_finish {
        fin_async_cont(ends_in_a_catch_clause, nullptr, 0);
    }
}

int main() {
    fin_finish {
        int four = 4;
        CHECK(fin_async_cont((fin::continuation<closures, int>), &four, sizeof four) != nullptr);
        fin_yield();
        fin_yield();
        fin_cancel();
    }
    CHECK_LOG("12 4 ");
    check_log[0] = 0;
    check_steps();
    check_refused();
    check_exceptions();
    fin_finish {
        CHECK(fin_async_cont(waits_in_a_catch_clause, nullptr, 0) != nullptr);
    }
    if (!ON_TSAN) { // as in refused.c
        char text[4096];
        CHECK_EQ(killed_by(run_ending_in_a_catch_clause, text, sizeof text), SIGABRT);
        CHECK(strstr(text, "fin: fin_cont_end where a C++ exception is in flight"));
    }
    return 0;
}
