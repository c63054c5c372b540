// SPDX-License-Identifier: BSD-2-Clause
#include "ipc_order.c"
