// SPDX-License-Identifier: BSD-2-Clause
#include <memory>
#include <fin/coro.hpp>
fin::task<std::unique_ptr<int>> takes_over(int *p) { co_return p; }
