// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
#include <memory>
fin::next wait() {
    auto p = std::make_shared<int>(1);
    return fin::block_on([p](int) { return fin::end(); });
}
