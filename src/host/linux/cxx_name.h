// SPDX-License-Identifier: BSD-2-Clause
// The C++ names of functions, for the reports that are printed where nothing may be allocated.
#ifndef FIN_HOST_CXX_NAME_H
#define FIN_HOST_CXX_NAME_H

#include <stdbool.h>
#include <stddef.h>

// Writes what the symbol `name` of a C++ compiler stands for, without the types of parameters and what is in templates:
// quotes::ask, main::{lambda}. Of a function that the headers wrap around a body it is the body's name. False, and nothing
// is written, for anything else. Allocates nothing.
bool fin_cxx_name(const char *name, char *out, size_t size);

#endif
