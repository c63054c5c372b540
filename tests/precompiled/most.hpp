// SPDX-License-Identifier: BSD-2-Clause
// What most scenarios in C++ include, compiled once for all of a room. Each names what it needs all the same.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include <fin.hpp>
