// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
#include <memory>
void wait() {
    auto p = std::make_shared<int>(1);
    fin::block_on([p](int) { fin_cont_end(); });
}
