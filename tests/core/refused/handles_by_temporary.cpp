// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
int adds(fin::waitset &w, fin::chan &c, int &n) {
    return w.add(c, [&n] { n++; });
}
