// SPDX-License-Identifier: BSD-2-Clause
// A program that ASan is built into, and a part of it, unchecked.cpp, that it is not built into.
#include <fin.hpp>

#include "check.h"

void unchecked();

int main() {
    unchecked();
    fin_finish {
        fin_async { unchecked(); };
        fin_async {
            fin_yield();
            unchecked();
        };
    }
    return 0;
}
