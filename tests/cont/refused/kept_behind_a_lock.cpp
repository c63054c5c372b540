// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
static fin::next next(int &, int) { return fin::end(); }
fin::next wait(fin::mutex &m) {
    fin::next later = fin::block_on<next>(1);
    m.lock();
    return later;
}
