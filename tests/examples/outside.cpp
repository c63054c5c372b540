// SPDX-License-Identifier: BSD-2-Clause
// A program outside the repository: what it includes and links comes from pkg-config.
#include <cstdio>
#include <stdexcept>
#include <unistd.h>

#include <fin.hpp>

int main() {
    int fds[2], caught = 0;
    char got = '?';
    if (pipe(fds) != 0)
        return 1;
    try {
        fin_finish {
            fin_async {
                fin::check(fin_read(fds[0], &got, 1));
                throw std::runtime_error("read");
            };
            fin_sleep(FIN_MS);
            fin::check(fin_write(fds[1], "x", 1));
        }
    } catch (const std::runtime_error &) {
        caught++;
    }
    fin::finish([&](fin::scope &s) {
        s.async([&] { fin_yield(); });
        s.async([&] { caught++; });
    });
    std::printf("%c %d\n", got, caught);
    return got == 'x' && caught == 2 ? 0 : 1;
}
