// SPDX-License-Identifier: BSD-2-Clause
#include <string_view>

#include <fin.hpp>
int receives(fin::chan &c, std::string_view &v) { return c.recv(v); } // over its pointer
