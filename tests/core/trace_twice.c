// SPDX-License-Identifier: BSD-2-Clause
// A second trace has nothing of the first, and names its tracks again. Who goes on because an async has blocked is who it
// was before, on its track.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fin/async.h>
#include <fin/trace.h>

#include "check.h"

static void yields(void *unused) {
    (void)unused;
    fin_yield();
}

static void trace(const char *mark, char *text, size_t size) {
    char path[32];
    int fd = memfd_create("trace", MFD_CLOEXEC);
    CHECK(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    CHECK_EQ(fin_trace_start(path), 0);
    fin_finish {
        fin_async_call(yields, NULL);
        fin_trace_mark("goes on");
        fin_async_eager_call(yields, NULL);
        fin_trace_mark("and on");
    }
    fin_trace_mark(mark);
    CHECK_EQ(fin_trace_stop(), 0);
    ssize_t n = pread(fd, text, size - 1, 0);
    CHECK(n > 0 && (size_t)n < size - 1);
    text[n] = 0;
    close(fd);
}

static int count(const char *text, const char *what) {
    int n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

// Of the event that is called so: from its "tid" to the end of the number.
static int track_of(const char *text, const char *name) {
    const char *at = strstr(text, name), *line = at;
    CHECK(at);
    while (line > text && line[-1] != '\n')
        line--;
    const char *tid = strstr(line, "\"tid\":");
    CHECK(tid);
    return atoi(tid + 6);
}

int main(void) {
    static char one[8192], two[8192];
    trace("the first", one, sizeof one);
    trace("the second", two, sizeof two);
    CHECK_EQ(count(one, "the first"), 1);
    CHECK_EQ(count(two, "the first"), 0);
    CHECK_EQ(track_of(one, "goes on"), track_of(one, "the first"));
    CHECK_EQ(track_of(one, "and on"), track_of(one, "the first"));
    CHECK_EQ(count(two, "the second"), 1);
    CHECK(count(one, "thread_name") >= 3); // the thread's, and one of each async
    CHECK(count(two, "thread_name") >= 3);
    return 0;
}
