// SPDX-License-Identifier: BSD-2-Clause
// An exception that leaves a step, or an async, where its finish block cannot keep one ends the program: the message names
// that block, and C++ says what exception it was.
#include <stdexcept>

#include <fin.hpp>

#include "process.h"

namespace {

fin_finish_on opened;

fin::next opens(int &, int) {
    fin_finish_open(&opened);
    throw std::runtime_error("the reason");
}

fin::next has_a_time(int &, int) {
    fin_timeout_open(&opened, FIN_S);
    fin::finish([](fin::scope &) {});
    throw std::runtime_error("the reason");
}

template <auto Step> void in_a_step() {
    fin::finish([](fin::scope &s) { s.async_cont<Step>(1); });
}

void is_said(void (*fn)(), const char *block) {
    char text[4096];
    CHECK_EQ(killed_by(fn, text, sizeof text), SIGABRT);
    CHECK(strstr(text, "fin: an exception leaves a step or an async, and its finish block cannot keep it: "));
    CHECK(strstr(text, block));
    CHECK(strstr(text, "std::runtime_error") && strstr(text, "the reason"));
}

} // namespace

int main() {
    is_said(in_a_step<opens>, "one of fin_finish_open or fin_timeout_open, which is open\n");
    is_said(in_a_step<has_a_time>, "one of fin_finish_open or fin_timeout_open, which is open\n");
}
