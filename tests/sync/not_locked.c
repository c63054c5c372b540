// SPDX-License-Identifier: BSD-2-Clause
// Who unlocks a mutex that is not locked, or gives up one for a condition variable that he does not have, is told.
#include <fin.h>

#include "process.h"

static struct fin_mutex mutex = FIN_MUTEX_INIT;
static struct fin_cond cond = FIN_COND_INIT;

static void unlocks_twice(void) {
    fin_mutex_lock_nc(&mutex);
    fin_mutex_unlock(&mutex);
    fin_mutex_unlock(&mutex);
}

static void waits_without_it(void) { fin_cond_wait_nc(&cond, &mutex); }

static void is_told(void (*fn)(void)) {
    int ends[2], status;
    char said[4096];
    size_t length = 0;
    CHECK_EQ(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 2);
        alarm(10);
        fn();
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], said + length, sizeof said - 1 - length)) > 0; length += (size_t)n)
        continue;
    said[length] = 0;
    close(ends[0]);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(strstr(said, "of a mutex that is not locked"));
    CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT : WEXITSTATUS(status) != 0);
}

int main(void) {
    is_told(unlocks_twice);
    is_told(waits_without_it);
    return 0;
}
