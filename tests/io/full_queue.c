// SPDX-License-Identifier: BSD-2-Clause
// As many requests as the submission queue has entries, all of which complete at once: what the thread sleeps with finds the
// queue full, and must not wait for more than has come by then.
#include <fcntl.h>

#include "net.h"

static int file, most;

static void read_some(void *unused) {
    char c[8];
    (void)unused;
    CHECK_EQ(fin_pread(file, c, sizeof c, 0), sizeof c);
}

static void together(void *unused) {
    (void)unused;
    fin_finish {
        for (int i = 0; i < most; i++)
            fin_async_call(read_some, NULL);
    }
}

int main(void) {
    const int counts[] = {1, 7, 8, 9, 15, 16, 17, 255, 256, 257, 511, 512, 513, 1024};
    struct fin_thread_handle h;
    file = open("/proc/self/exe", O_RDONLY);
    CHECK(file >= 0);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) { // a ring of its own for each
        most = counts[i];
        CHECK_EQ(fin_thread_start(&h, together, NULL), 0);
        CHECK_EQ(fin_thread_join(&h), 0);
    }
    return 0;
}
