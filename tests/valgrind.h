// SPDX-License-Identifier: BSD-2-Clause
// For scenarios of which valgrind, where all is a hundred times slower, runs a shorter form.
#ifndef FIN_TESTS_VALGRIND_H
#define FIN_TESTS_VALGRIND_H

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

#endif
