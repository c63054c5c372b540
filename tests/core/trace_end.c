// SPDX-License-Identifier: BSD-2-Clause
// What a thread did after its last wait is in the trace, though it has ended when that is written.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

static void yields(void *unused) {
    (void)unused;
    fin_yield();
}

static void runs_on_after_a_wait(void *unused) {
    fin_finish {
        fin_async_call(yields, unused);
        fin_set_name("after its last wait"); // which is at the end of the block
    }
}

int main(void) {
    char path[32], text[8192];
    struct fin_thread_handle t;
    int fd = memfd_create("trace", MFD_CLOEXEC);
    CHECK(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    CHECK_EQ(fin_trace_start(path), 0);
    CHECK_EQ(fin_thread_start(&t, runs_on_after_a_wait, NULL), 0);
    fin_thread_join_nc(&t);
    CHECK_EQ(fin_trace_stop(), 0);
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    CHECK(n > 0 && (size_t)n < sizeof text - 1);
    text[n] = 0;
    CHECK(strstr(text, "\"name\":\"after its last wait\",\"dur\""));
    return 0;
}
