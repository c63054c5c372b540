// SPDX-License-Identifier: BSD-2-Clause
// plugin_host PLUGIN: a program of C, which has no exceptions, has used Fin when a plugin brings C++ to the thread.
#include <dlfcn.h>

#include <fin.h>

#include "check.h"

static FIN_BLOCKING void yields(void *unused) {
    (void)unused;
    fin_yield();
}

int main(int argc, char **argv) {
    CHECK_EQ(argc, 2);
    fin_finish {
        fin_async_call(yields, NULL);
    }
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(plugin);
    void (*run)(void);
    *(void **)&run = dlsym(plugin, "run");
    CHECK(run);
    run();
    return 0;
}
