// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
#include <mutex>
static fin::next next(int &, int) { return fin::end(); }
void update(fin::mutex &m) { // holds the lock and has nobody to return to what it would wait for
    std::lock_guard hold(m);
    fin::block_on<next>(1);
}
