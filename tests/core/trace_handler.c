// SPDX-License-Identifier: BSD-2-Clause
// A signal handler that marks a moment in the midst of an event: both are in the trace, whole, and nothing else. The event
// stops where it reads its name, which lies on a page that cannot be read yet.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/resource.h>

#include <fin.h>

#include "process.h"

static char *page;

static void on_fault(int signal) {
    (void)signal;
    fin_trace_mark("of the handler");
    fin_trace_mark("again");
    mprotect(page, (size_t)getpagesize(), PROT_READ | PROT_WRITE);
    strcpy(page, "outer");
}

static const char *path_of(int fd) {
    static char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

static const char *text_of(int fd) {
    static char text[4096];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    CHECK(n > 0 && (size_t)n < sizeof text - 1);
    text[n] = 0;
    return text;
}

static int count(const char *text, const char *what) {
    int n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

// A crash in the midst of one: the mark that names the signal is in the trace.
static void crashes(int fd) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        CHECK_EQ(fin_trace_start(path_of(fd)), 0);
        fin_trace_mark(page);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK_EQ(count(text_of(fd), "\"SIGSEGV\""), 1);
}

int main(void) {
#if FIN_SANITIZED
    SKIP("a sanitizer reads the name itself");
#endif
    if (on_valgrind())
        SKIP("valgrind counts the fault");
    int fd = memfd_create("trace", MFD_CLOEXEC);
    page = mmap(NULL, (size_t)getpagesize(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(fd >= 0 && page != MAP_FAILED);
    crashes(fd);
    CHECK(signal(SIGSEGV, on_fault) != SIG_ERR);
    CHECK_EQ(fin_trace_start(path_of(fd)), 0);
    fin_trace_mark("before");
    fin_trace_mark(page);
    fin_trace_mark("after");
    CHECK_EQ(fin_trace_stop(), 0);
    const char *text = text_of(fd);
    static const char *const names[] = {"before", "outer", "of the handler", "again", "after"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char mark[64];
        snprintf(mark, sizeof mark, "\"name\":\"%s\",\"s\"", names[i]);
        CHECK_EQ(count(text, mark), 1);
    }
    CHECK_EQ(count(text, "\n{"), 7); // with the name of the track, and the slice
    return 0;
}
