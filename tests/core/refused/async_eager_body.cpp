// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
void f();
void start() { fin_async_eager { f(); }; }
