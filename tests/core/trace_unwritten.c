// SPDX-License-Identifier: BSD-2-Clause
// A trace that cannot be written: why is returned, or said where nobody asks, and the program goes on: also where a pipe has
// nobody who reads it, or a file may not become so large. A pipe that is pending already stays so.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fin/async.h>
#include <fin/trace.h>

#include "process.h"

static const char *path_of(int fd) {
    static char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

static void a_full_disk(void) {
    CHECK_EQ(fin_trace_start("/dev/full"), -ENOSPC);
    CHECK_EQ(fin_trace_stop(), -EINVAL);
    CHECK_EQ(fin_trace_start("+/dev/full"), 0);
    fin_trace_mark("lost");
    CHECK_EQ(fin_trace_stop(), -ENOSPC);
}

static void nobody_reads(void) {
    int ends[2];
    sigset_t set, pending;
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(fin_trace_start(path_of(ends[1])), 0);
    close(ends[0]);
    CHECK_EQ(fin_trace_stop(), -EPIPE);
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
    CHECK_EQ(fin_trace_start(path_of(ends[1])), -EPIPE);
    CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGPIPE));
    raise(SIGPIPE);
    CHECK_EQ(fin_trace_start(path_of(ends[1])), -EPIPE);
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE));
    CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR && signal(SIGPIPE, SIG_DFL) != SIG_ERR); // which takes it
    CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
    close(ends[1]);
}

static void nobody_opens_it(void) {
    char path[] = "/tmp/fin-trace-XXXXXX", pipe[64];
    CHECK(mkdtemp(path));
    snprintf(pipe, sizeof pipe, "%s/pipe", path);
    CHECK_EQ(mkfifo(pipe, 0600), 0);
    alarm(60);
    CHECK_EQ(fin_trace_start(pipe), -ENXIO);
    alarm(0);
    CHECK(unlink(pipe) == 0 && rmdir(path) == 0);
}

static void too_large(void) {
    struct rlimit before, less = {.rlim_cur = 64};
    int fd = memfd_create("trace", MFD_CLOEXEC);
    CHECK(fd >= 0 && getrlimit(RLIMIT_FSIZE, &before) == 0);
    less.rlim_max = before.rlim_max;
    CHECK_EQ(fin_trace_start(path_of(fd)), 0);
    for (int i = 0; i < 100; i++)
        fin_trace_mark("large");
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &less), 0);
    CHECK_EQ(fin_trace_stop(), -EFBIG);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    close(fd);
}

// The memory that there is is not enough for a ring.
static void no_memory(void) {
    if (FIN_SANITIZED || on_valgrind())
        return; // they have maps of their own
    struct rlimit before, less = {.rlim_cur = (size_t)1 << 20};
    CHECK_EQ(getrlimit(RLIMIT_AS, &before), 0);
    less.rlim_max = before.rlim_max;
    CHECK_EQ(setrlimit(RLIMIT_AS, &less), 0);
    if (mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) { // an emulator keeps no limit
        CHECK_EQ(fin_trace_start("/dev/null"), -ENOMEM);
        CHECK_EQ(fin_trace_stop(), -EINVAL);
    }
    CHECK_EQ(setrlimit(RLIMIT_AS, &before), 0);
}

static int at_exit(const char *command, const char *says) {
    char text[1024];
    setenv("FIN_TRACE", "+/dev/full", 1);
    FILE *p = popen(command, "r");
    CHECK(p);
    size_t n = fread(text, 1, sizeof text - 1, p);
    text[n] = 0;
    int status = pclose(p);
    if (strstr(text, "Exec format error"))
        SKIP("this program cannot be started as it is: under an emulator");
    CHECK(strstr(text, says));
    return status;
}

int main(int argc, char **argv) {
    char command[4096];
    if (argc > 1) {
        fin_finish {}
        return 3;
    }
    fin_finish {}
    no_memory();
    a_full_disk();
    nobody_reads();
    nobody_opens_it();
    too_large();
    snprintf(command, sizeof command, "'%s' traced 2>&1", argv[0]);
    int status = at_exit(command, "fin: the trace cannot be written to /dev/full: No space left on device");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    return 0;
}
