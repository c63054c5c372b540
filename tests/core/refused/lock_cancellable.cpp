// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
void update(fin::mutex &m) { // not locked after a cancel
    m.lock_cancellable();
    m.unlock();
}
