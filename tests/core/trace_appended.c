// SPDX-License-Identifier: BSD-2-Clause
// The first trace that is appended to a file begins its array, though the file was not there, or was empty; others do not.
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fin/trace.h>

#include "check.h"

int main(void) {
    char path[32], text[4096];
    int fd = memfd_create("trace", MFD_CLOEXEC);
    CHECK(fd >= 0);
    snprintf(path, sizeof path, "+/proc/self/fd/%d", fd);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(fin_trace_start(path), 0);
        fin_trace_mark("here");
        CHECK_EQ(fin_trace_stop(), 0);
    }
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    CHECK(n > 0);
    text[n] = 0;
    CHECK(strncmp(text, "[\n{", 3) == 0);
    CHECK(strchr(text + 1, '[') == NULL);
    return 0;
}
