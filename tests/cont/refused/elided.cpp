// SPDX-License-Identifier: BSD-2-Clause
#define FIN_ELIDE
#include <fin.hpp>

#include "elided.c" // the same, with the macros of C++
