// SPDX-License-Identifier: BSD-2-Clause
// Names of functions, for messages of a program that ends.
#ifndef FIN_HOST_SYMBOL_H
#define FIN_HOST_SYMBOL_H

#include <stddef.h>

// Writes the name of the function at `ip`, a static one's too where the file has not been stripped; else the file and what
// addr2line wants to know, the address there. A C++ name is written as in the program, without parameters. Returns buffer.
// Allocates nothing; may be called from a signal handler of a fault in the program's own code.
const char *fin_symbol_at(const void *ip, char *buffer, size_t size);

#endif
