// SPDX-License-Identifier: BSD-2-Clause
// A thread that ends in the middle of fin_run leaves nothing behind: no descriptor, and no process, whether it was to be
// read from or waited for.
#include <errno.h>
#include <pthread.h>

#include <fin/process.h>

#include "net.h"

static const char *const *program;

static void run_it(void *unused) {
    static char room[64];
    int status;
    (void)unused;
    fin_run(&(struct fin_spawn){.path = program[0], .argv = program}, "input", 5, room, sizeof room, &status);
}

static void *ends_early(void *unused) {
    fin_finish {
        fin_async_eager_call(run_it, NULL);
        CHECK_EQ(fin_sleep(20 * FIN_MS), 0);
        pthread_exit(unused);
    }
    return NULL;
}

static void try_it(const char *const *argv) {
    pthread_t t;
    program = argv;
    int before = open_descriptors();
    CHECK_EQ(pthread_create(&t, NULL, ends_early, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    CHECK_EQ(open_descriptors(), before);
    CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
    CHECK_EQ(errno, ECHILD);
}

int main(void) {
    try_it((const char *[]){"sleep", "3600", NULL});
    try_it((const char *[]){"sh", "-c", "exec >&-; exec sleep 3600", NULL});
    return 0;
}
