// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
#include <cstdio>
#include <stdexcept>
#include <string>

int main() {
    std::string said;
    fin_finish {
        fin_async {
            fin_sleep(1000000);
            said += "ended";
        };
        said += "goes on, ";
    }
    try {
        fin::finish([&](fin::scope &scope) {
            scope.async([&] {
                fin_sleep(1000000);
                throw std::runtime_error(", threw");
            });
        });
    } catch (const std::runtime_error &e) {
        said += e.what();
    }
    std::puts(said.c_str());
    return said != "goes on, ended, threw";
}
