// SPDX-License-Identifier: BSD-2-Clause
#include <fin/coro.hpp>
fin::task<> does_nothing() { co_return; }
void start() { fin_async_task(does_nothing()); }
