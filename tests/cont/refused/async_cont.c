// SPDX-License-Identifier: BSD-2-Clause
#include <fin.h>
void start(fin_cont *cont) { fin_async_cont(cont, NULL, 0); }
