// SPDX-License-Identifier: BSD-2-Clause
#include <fin.h>
void f(void *);
void start(void *x) { fin_async_call(f, x); }
