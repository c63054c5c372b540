// SPDX-License-Identifier: BSD-2-Clause
#include <fin/coro.hpp>
fin::task<> waits() { co_await std::suspend_always(); }
