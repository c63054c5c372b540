// SPDX-License-Identifier: BSD-2-Clause
// The child of a fork looks up names, though another thread of its parent was at the first look-up of all.
#define _GNU_SOURCE
#include <ares.h>
#include <dlfcn.h>
#include <poll.h>

#include "dns.h"
#include "inside.h"

// In place of c-ares'.
int ares_library_init(int flags) {
    int (*init)(int);
    *(void **)&init = dlsym(RTLD_NEXT, "ares_library_init");
    stay_inside();
    return init(flags);
}

static void looks_up(void) { CHECK_EQ(resolve("localhost"), 0); }

int main(void) {
    fork_while_inside(looks_up, looks_up);
    looks_up();
    return 0;
}
