// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
void f(void *);
void start(void *x) { fin_async_call(f, x); }
