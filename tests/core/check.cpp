// SPDX-License-Identifier: BSD-2-Clause
// fin::check: what it lets pass, what it throws, and whose error its message says it is.
#include <fin.hpp>

#include <cstring>
#include <string>

#include "check.h"

template <class F> static std::string thrown_by(F f, int code) {
    try {
        f();
    } catch (const std::system_error &e) {
        CHECK_EQ(e.code().value(), code);
        CHECK(e.code().category() == std::generic_category());
        return e.what();
    }
    CHECK(false);
    return "";
}

int main() {
    std::string error = std::strerror(ENOENT), name = "a name";
    ssize_t n = 5;
    CHECK_EQ(fin::check(n), 5);
    CHECK_EQ(fin::check(n, "five"), 5);
    static_assert(std::is_same_v<decltype(fin::check(n, "five")), ssize_t>);
    CHECK_EQ(fin::check(0, name), 0);
    CHECK(thrown_by([] { fin::check(-ENOENT); }, ENOENT) == error);
    CHECK(thrown_by([] { fin::check(-ENOENT, "the log"); }, ENOENT) == "the log: " + error);
    CHECK(thrown_by([&] { fin::check(-ENOENT, name); }, ENOENT) == name + ": " + error);
    const char *text = "a pointer";
    CHECK(thrown_by([&] { fin::check(ssize_t{-ENOENT}, text); }, ENOENT) == "a pointer: " + error);
}
