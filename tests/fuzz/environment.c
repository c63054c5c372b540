// SPDX-License-Identifier: BSD-2-Clause
// What the environment may hold: each child has other values in the variables that Fin reads. It does its work, or says
// which of them is wrong; it neither crashes nor hangs. They are read once in a process: so there is a child for each.
//
//     PROGRAM [children [the first's number]]
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>

#include <fin.h>
#include <fin/offload.h>

#include "process.h"

enum { CHILDREN = 60, FEW = 10, SECONDS = 60 };

static uint64_t seed = 1;

static unsigned next(unsigned below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

static const char *const names[] = {"FIN_STACK_SIZE", "FIN_OFFLOAD_THREADS", "FIN_HELD_MS", "FIN_STUCK_MS",
                                    "FIN_TRACE_EVENTS", "FIN_STATS",         "FIN_IO",      "FIN_TRACE"};
enum { NAMES = sizeof names / sizeof *names };
#define NOWHERE UINT64_MAX // this alone is wrong: a trace that cannot be written

static const char *value(void) {
    static const char *const known[] = {
        "", "0", "1", "-1", " 7", "7 ", "+5", "0x40", "010", "64k", "1e9", "65536", "1000000", "4097", "2147483648",
        "4294967296", "9223372036854775808", "18446744073709551615", "99999999999999999999", "epoll", "plain", "small",
        "EPOLL", "5.19", "/", "/dev/null", "/dev/full", "/nowhere/file", "%n%s%p"};
    static char text[6000];
    unsigned n = sizeof known / sizeof *known, i = next(n + 4);
    if (i < n)
        return known[i];
    size_t size = i == n ? sizeof text - 1 : next(12);
    for (size_t at = 0; at < size; at++)
        text[at] = (char)(1 + next(255));
    text[size] = 0;
    return text;
}

static void add(void *count) { __atomic_add_fetch((int *)count, 1, __ATOMIC_SEQ_CST); }

static void work(void) {
    fin_shared int count = 0;
    alarm(SECONDS);
    fin_finish {
        for (int i = 0; i < 3; i++) {
            fin_async {
                CHECK_EQ(fin_sleep(1000), 0);
                CHECK_EQ(fin_offload(add, &count), 0);
            };
        }
    }
    CHECK_EQ(__atomic_load_n(&count, __ATOMIC_SEQ_CST), 3);
}

// The same at each time that it is called with the same number. A trace's file by chance would lie somewhere.
static void choose(uint64_t number, bool show) {
    seed = number;
    for (int i = 0; i < NAMES; i++) {
        const char *v = number == NOWHERE ? (i == NAMES - 1 ? "/nowhere/file" : NULL) : next(4) == 0 ? value() : NULL;
        if (v && strcmp(names[i], "FIN_TRACE") == 0 && v[0] != '/')
            v = "/dev/null";
        if (show && v)
            fprintf(stderr, "%s='%.60s'\n", names[i], v);
        else if (!show)
            v ? setenv(names[i], v, 1) : unsetenv(names[i]);
    }
}

static void run_one(uint64_t number) {
    char text[4096] = {0};
    int fd = memfd_create("text", MFD_CLOEXEC), status;
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0 && fd >= 0);
    if (pid == 0) {
        dup2(fd, STDERR_FILENO);
        choose(number, false);
        work();
        exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(pread(fd, text, sizeof text - 1, 0) >= 0);
    close(fd);
    CHECK(number != NOWHERE || strstr(text, "fin: the trace cannot be written to /nowhere/file"));
    bool told = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strncmp(text, "fin: FIN_", 9) == 0;
    if (status == 0 || told)
        return;
    fprintf(stderr, "%llu: status 0x%x\n", (unsigned long long)number, (unsigned)status);
    choose(number, true);
    fprintf(stderr, "%s", text);
    exit(1);
}

int main(int argc, char **argv) {
    int children = argc > 1 ? atoi(argv[1]) : getenv("FIN_FEW") ? FEW : CHILDREN;
    uint64_t first = argc > 2 ? (uint64_t)atoll(argv[2]) : (uint64_t)getpid() << 20;
    if (on_valgrind())
        SKIP("a child for each set of values, of what runs many times slower here");
    run_one(NOWHERE);
    for (int i = 0; i < children; i++)
        run_one(first + (uint64_t)i);
    return 0;
}
