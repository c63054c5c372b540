// SPDX-License-Identifier: BSD-2-Clause
#include <string>
#include <fin/coro.hpp>
fin::task<const std::string &> name() { co_return std::string("gone"); }
