// SPDX-License-Identifier: BSD-2-Clause
// The child of a fork runs asyncs, though another thread of its parent was in the process's first call of all.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fin.h>

#include "inside.h"

// In place of libc's.
char *getenv(const char *name) {
    char *(*get)(const char *);
    *(void **)&get = dlsym(RTLD_NEXT, "getenv");
    if (strcmp(name, "FIN_TRACE") == 0) // the last that is asked for
        stay_inside();
    return get(name);
}

static FIN_BLOCKING void yields(void *unused) {
    (void)unused;
    fin_yield();
}

static void begins(void) {
    fin_shared int ran = 0;
    fin_finish {
        fin_async_call(yields, NULL);
        ran++;
    }
    CHECK_EQ(ran, 1);
}

int main(void) {
    fork_while_inside(begins, begins);
    begins();
    return 0;
}
