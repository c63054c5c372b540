// SPDX-License-Identifier: BSD-2-Clause
#include "figure_1.c"
