// SPDX-License-Identifier: BSD-2-Clause
#include "cancel.c"
