// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
void f(void *);
void start(void *x) { fin_async_eager_call(f, x); }
