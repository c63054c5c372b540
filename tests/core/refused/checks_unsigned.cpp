// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
size_t reads(int fd, char *to) {
    size_t n = static_cast<size_t>(fin_read(fd, to, 1));
    return fin::check(n);
}
