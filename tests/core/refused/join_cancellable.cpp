// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
void joins(fin::thread &t, int *data) { // the thread goes on after a cancel
    t.join_cancellable();
    delete data;
}
