// SPDX-License-Identifier: BSD-2-Clause
#include <fin/thc.h>
