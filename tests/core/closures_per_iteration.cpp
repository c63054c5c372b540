// SPDX-License-Identifier: BSD-2-Clause
// Hazard: a closure is made anew, in the same place, by each iteration of a loop; a body that blocked still needs its own.
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fin.hpp>

#include "check.h"

int main() {
    std::vector<std::string> out;
    fin::finish([&](fin::scope &s) {
        for (int i = 0; i < 50; i++) {
            std::array<long, 20> big{};
            big.fill(i);
            s.async([&out, big, i, text = std::to_string(i), owned = std::make_unique<int>(i)] {
                fin_yield();
                fin_yield();
                CHECK_EQ(big[19], i);
                CHECK_EQ(*owned, i);
                out.push_back(text);
            });
        }
    });
    CHECK_EQ(out.size(), 50);
    for (int i = 0; i < 50; i++)
        CHECK(out[i] == std::to_string(i));

    // by reference, as fin_async captures: the references are those of the iteration that made them
    int total = 0;
    std::array<int, 8> slots{};
    fin_finish {
        for (int &slot : slots) {
            int *p = &slot;
            fin_async {
                int *mine = p;
                fin_yield();
                *mine = ++total;
            };
        }
    }
    for (int i = 0; i < 8; i++)
        CHECK_EQ(slots[i], i + 1);
    return 0;
}
