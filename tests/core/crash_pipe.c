// SPDX-License-Identifier: BSD-2-Clause
// While a thread reports a crash another one that writes to a pipe that nobody reads ends as ever, by SIGPIPE. The thread
// that crashes is held up by its trace, which goes to a pipe that is full.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include <fin.h>

#include "process.h"

static int *volatile nowhere = NULL;
static int go[2], left[2];

static void *writes(void *unused) {
    char c;
    signal(SIGPIPE, SIG_DFL);
    CHECK_EQ(read(go[0], &c, 1), 1);
    _exit(write(left[1], "x", 1) < 0 ? 3 : 4);
    return unused;
}

static void crashes(const char *trace) {
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, writes, NULL), 0);
    CHECK_EQ(fin_trace_start(trace), 0);
    for (int i = 0; i < 1000; i++)
        fin_trace_mark("a name that fills the pipe");
    fin_finish {
        fin_async { *nowhere = 1; };
    }
}

int main(void) {
#if FIN_SANITIZED
    SKIP("a sanitizer reports crashes itself");
#endif
    char folder[] = "/tmp/fin-crash-XXXXXX", path[64], text[512];
    int said[2], status, reader;
    CHECK(mkdtemp(folder) && pipe(said) == 0 && pipe(go) == 0 && pipe(left) == 0);
    snprintf(path, sizeof path, "%s/trace", folder);
    CHECK_EQ(mkfifo(path, 0600), 0);
    reader = open(path, O_RDWR);
    CHECK(reader >= 0 && fcntl(reader, F_SETPIPE_SZ, 4096) >= 4096);
    close(left[0]);
    pid_t child = fork();
    if (child == 0) {
        dup2(said[1], STDERR_FILENO);
        crashes(path);
        _exit(5);
    }
    CHECK(read(said[0], text, sizeof text) > 0); // the report: what is held up now is the trace
    CHECK_EQ(write(go[1], "x", 1), 1);
    CHECK_EQ(waitpid(child, &status, 0), child);
    unlink(path);
    rmdir(folder);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGPIPE);
    return 0;
}
