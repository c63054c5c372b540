// SPDX-License-Identifier: BSD-2-Clause
// What most scenarios about coroutines include, compiled once for all of them. Each names what it needs all the same.
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <sys/socket.h>
#include <unistd.h>

#include <fin/co_all.hpp>
