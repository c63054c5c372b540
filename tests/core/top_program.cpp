// SPDX-License-Identifier: BSD-2-Clause
// For top.py: bodies and functions with C++ names, which wait until the standard input ends.
#include <cerrno>
#include <cstdio>
#include <unistd.h>

#include <fin.hpp>

#include "check.h"

namespace desk {

template <class T> struct clerk {
    static FIN_BLOCKING void waits(void *semaphore) { CHECK_EQ(fin_sem_wait(static_cast<T *>(semaphore)), -ECANCELED); }
};

} // namespace desk

FIN_BLOCKING int main() {
    fin::semaphore never(0);
    char byte;
    ssize_t end = -1;
    fin::finish([&](fin::scope &s) {
        s.async([&]() FIN_BLOCKING { desk::clerk<fin_sem>::waits(never.native_handle()); });
        fin_finish_as(all) {
            fin_async_call(desk::clerk<fin_sem>::waits, never.native_handle());
            std::puts("ready");
            std::fflush(stdout);
            end = fin_read(STDIN_FILENO, &byte, 1);
            fin_cancel_as(all);
        }
        s.cancel();
    });
    CHECK_EQ(end, 0);
    return 0;
}
