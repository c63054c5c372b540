// SPDX-License-Identifier: BSD-2-Clause
// Reports name C++ functions as the program does, also the lambdas that are bodies, and not by the symbols of the compiler.
#include <vector>

#include <fin.hpp>

#include "process.h"

namespace {

int *volatile nowhere = nullptr;

template <class T> struct desk {
    T *at;
    __attribute__((noinline)) void writes(T what, const std::vector<T> &) const {
        *at = what;
        __asm__ volatile("" : : : "memory");
    }
};

void crashes_in_a_body() {
    desk<int> d{nowhere};
    fin::finish([&](fin::scope &s) {
        s.async([&]() FIN_BLOCKING {
            fin_yield();
            d.writes(1, {});
        });
    });
}

void crashes_in_a_body_in_place() {
    fin_finish {
        fin_async {
            fin_yield();
            desk<int>{nowhere}.writes(1, {});
        };
    }
}

fin::next reads(int &n, int) {
    desk<int>{nowhere}.writes(n, {});
    return fin::end();
}

void crashes_in_a_continuation() {
    fin::finish([&](fin::scope &s) { s.async_cont<reads>(1); });
}

// A name that is longer than there is room for is cut where that ends.
namespace a_desk_in_the_office_at_the_end_of_the_corridor_on_the_first_floor_of_the_house_in_the_garden {
namespace a_desk_in_the_office_at_the_end_of_the_corridor_on_the_second_floor_of_the_house {
namespace a_desk_in_the_office_at_the_end_of_the_corridor_on_the_third_floor_of_the_house {
void crashes() {
    fin::finish([&](fin::scope &s) {
        s.async([&]() FIN_BLOCKING { desk<int>{nowhere}.writes(1, {}); });
    });
}
} // namespace a_desk_in_the_office_at_the_end_of_the_corridor_on_the_third_floor_of_the_house
} // namespace a_desk_in_the_office_at_the_end_of_the_corridor_on_the_second_floor_of_the_house
} // namespace a_desk_in_the_office_at_the_end_of_the_corridor_on_the_first_floor_of_the_house_in_the_garden
namespace first = a_desk_in_the_office_at_the_end_of_the_corridor_on_the_first_floor_of_the_house_in_the_garden;
namespace second = first::a_desk_in_the_office_at_the_end_of_the_corridor_on_the_second_floor_of_the_house;
namespace third = second::a_desk_in_the_office_at_the_end_of_the_corridor_on_the_third_floor_of_the_house;

void is_said(void (*crashes)(), const char *entry) {
    char text[4096];
    CHECK_EQ(killed_by(crashes, text, sizeof text), SIGSEGV);
    CHECK(strstr(text, entry));
    CHECK(strstr(text, "at {anonymous}::desk::writes\n"));
    CHECK(!strstr(text, "_Z"));
}

} // namespace

int main() {
    if (ON_ASAN || ON_TSAN || on_valgrind())
        SKIP("a sanitizer, or valgrind, reports crashes itself");
    is_said(crashes_in_a_body, "entry {anonymous}::crashes_in_a_body::{lambda}::{lambda},");
    is_said(crashes_in_a_body_in_place, "entry {anonymous}::crashes_in_a_body_in_place::{lambda},");
    is_said(crashes_in_a_continuation, "continuation {anonymous}::reads,");
    is_said(third::crashes, "second_floor_of_the_house::a_desk_in_the_office_at_the_end_of_the_corridor_on_the_third_fl");
}
