// SPDX-License-Identifier: BSD-2-Clause
// What the scenarios about child processes need.
#ifndef FIN_TESTS_IO_CHILD_H
#define FIN_TESTS_IO_CHILD_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <fcntl.h>

#include "net.h"

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SHELL(script) {.path = "/bin/sh", .argv = ARGV("sh", "-c", script)}

static inline int start_shell(struct fin_process *p, const char *script) {
    int r = fin_spawn(p, &(struct fin_spawn)SHELL(script));
    if (r == -ENOSYS)
        SKIP("no pidfds here");
    return r;
}

static inline void no_child_left(void) {
    CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
    CHECK_EQ(errno, ECHILD);
}

#endif
