// SPDX-License-Identifier: BSD-2-Clause
// Continuations in C++: typed state, exceptions that leave one.
#include <cstring>
#include <stdexcept>
#include <string>

#include <fin.hpp>

#include "process.h"

struct walk {
    int at, to;
    std::string *path;
};

static void walks(walk &w, int result) {
    CHECK_EQ(result, 0);
    *w.path += std::to_string(w.at) + " ";
    if (w.at++ == w.to)
        fin_cont_end();
    fin::yield_on<walks>(w);
}

static void ends(int &, int result) {
    LOG("%d ", result);
    fin_cont_end();
}

static void waits(int &n, int) {
    CHECK((fin_cont_of(fin_awe_self()) == fin::continuation<waits, int>));
    fin::block_on<ends>(n);
}

static void throws(int &n, int) {
    if (n == 0)
        throw std::runtime_error("left a continuation");
    n--;
    fin::yield_on<throws>(n);
}

// In a catch clause the exception would be lost with the frame.
static void catches(int &n, int) {
    try {
        throw n;
    } catch (int) {
        CHECK_EQ(fin::block_on<ends>(n), -EBUSY);
        CHECK_EQ(fin_call_continuation((fin::continuation<ends, int>), 0), -EBUSY);
    }
    fin_cont_end();
}

static void ends_in_a_catch_clause(int &n, int) {
    try {
        throw n;
    } catch (int) {
        fin_cont_end(); // the next of the thread would have it as its own
    }
}

static void run_ending_in_a_catch_clause() {
    int n = 0;
    fin_finish { fin_async_cont((fin::continuation<ends_in_a_catch_clause, int>), &n, sizeof n); }
}

// Its state lies where the next wait puts its own.
static fin::no_return last(int &n, int result) {
    CHECK_EQ(result, 0);
    LOG("%d ", n);
    fin_cont_end();
}

static void closures(int &n, int) {
    int twice = 2 * n;
    fin::yield_on([n, twice](int result) {
        CHECK_EQ(result, 0);
        fin::block_on([sum = n + twice, n](int why) {
            CHECK_EQ(why, -ECANCELED);
            LOG("%d ", sum);
            fin::yield_on<last>(n);
        });
    });
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
    std::string path;
    fin::finish([&](fin::scope &s) {
        CHECK(s.async_cont<walks>(walk{1, 3, &path}) != nullptr);
        CHECK(s.async_cont<walks>(walk{7, 8, &path}) != nullptr);
        CHECK(s.async_cont<catches>(5) != nullptr);
    });
    CHECK(path == "1 7 2 8 3 ");
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
    if (!ON_TSAN) { // as in refused.c
        char text[4096];
        CHECK_EQ(killed_by(run_ending_in_a_catch_clause, text, sizeof text), SIGABRT);
        CHECK(strstr(text, "fin: fin_cont_end where a C++ exception is in flight"));
    }
    return 0;
}
