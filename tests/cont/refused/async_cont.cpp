// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
void start(fin_cont *cont) { fin_async_cont(cont, nullptr, 0); }
