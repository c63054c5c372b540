// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
void with_reference() {
    int n = 0;
    fin::thread([](int &) {}, n).join(); // a copy does not bind to that
}
