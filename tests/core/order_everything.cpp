// SPDX-License-Identifier: BSD-2-Clause
#include "order_everything.c"
