// SPDX-License-Identifier: BSD-2-Clause
// Continuations in C++: a step returns what comes next, so that all of its frames have ended when the AWE waits. Functions,
// member functions and closures; operations, locks and finish blocks that a step opened.
#include <mutex>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include <fin.hpp>

#include "check.h"

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

// Member functions: of the state, and of what it points to. Arguments become those of the operation: NULL, a smaller type.
struct counter {
    fin_on on;
    int n, closures, pipe[2];
    char byte;
    fin::next waits(int result) {
        CHECK_EQ(result, 0);
        return fin::wait_on<&counter::reads, fin_read_on>(this, &on, pipe[0], &byte, 1);
    }
    fin::next reads(int result) {
        CHECK_EQ(result, 1);
        n = byte;
        return fin::end();
    }
};

struct by_value {
    int n;
    fin::next counts(int) {
        LOG("%d ", n);
        return n++ < 2 ? fin::yield_on<&by_value::counts>(*this) : fin::end();
    }
};

// Made known when it can be resumed, which is after the end of what it left.
static fin_awe *known;

static fin::next becomes_known(int &n, int) {
    fin_finish {
        fin_async {
            fin_yield();
            CHECK(known == nullptr);
        };
        return fin::block_on_then<last>(n, [](fin_awe *a) { known = a; });
    }
    __builtin_unreachable();
}

// The state is that of the return statement.
static fin::next changes_late(int &n, int) {
    fin_finish {
        fin_async {
            fin_yield();
            n = 99;
        };
        return fin::yield_on<last>(n);
    }
    __builtin_unreachable();
}

static fin::next starts_another(int &n, int) {
    fin::async_cont_beside<last>(n + 1);
    return fin::end();
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
        scope.async_cont<walks>(walk{1, 3, &path});
        scope.async_cont<walks>(walk{7, 8, &path});
        scope.async_cont<owns>(owner{&lock, &alive, &done});
    });
    CHECK(path == "1 7 2 8 3 ");
    CHECK_EQ(alive, 0);
    CHECK_EQ(done, 2);
    fin::finish([&](fin::scope &scope) {
        scope.async_cont<sleeps>(&s);
        while (s.slept < 4)
            fin_sleep(FIN_MS);
        scope.cancel();
    });
    CHECK_EQ(s.slept, -1);
    CHECK_LOG("");
    counter c{};
    CHECK_EQ(pipe(c.pipe), 0);
    fin::finish([&](fin::scope &scope) {
        scope.async_cont<&counter::waits>(&c);
        CHECK_EQ(fin_write(c.pipe[1], "x", 1), 1);
        scope.async_cont<&by_value::counts>(by_value{1});
        scope.async_cont([&c](int) {
            c.closures++;
            return fin::end();
        });
    });
    CHECK_EQ(c.n, 'x');
    CHECK_EQ(c.closures, 1);
    CHECK_LOG("1 2 ");
    check_log[0] = 0;
    fin::finish([&](fin::scope &scope) {
        scope.async_cont<becomes_known>(3);
        while (!known)
            fin_yield();
        CHECK_EQ(fin_schedule(known), 0);
        fin_yield();
        scope.async_cont<changes_late>(7);
        fin_yield();
        fin_yield();
        scope.async_cont<starts_another>(8);
    });
    CHECK_LOG("3 7 9 ");
    check_log[0] = 0;
    fin::finish([&](fin::scope &scope) {
        scope.async_cont<makes_itself_known>(5);
        fin_yield();
        scope.async_cont<switches>(6);
        fin_yield();
        scope.cancel();
    });
    CHECK_LOG("5,0 -125 ");
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
    return 0;
}
