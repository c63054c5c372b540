// SPDX-License-Identifier: BSD-2-Clause
// placed LIBRARY [stripped]: reports name the static functions of a library that is linked at another address than 0. Where
// that has no names, they say the address in its file, for addr2line.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>

#include <fin.h>

#include "process.h"

static void (*crashes_in_library)(void *);

static void crashes(void) {
    fin_finish {
        fin_async_call(crashes_in_library, NULL);
    }
}

// "at FILE+0x10001130\n" in the report
static void check_address(void *library, const char *text) {
    const struct link_map *map;
    const char *at = strstr(text, "core_placed_stripped.so+0x");
    CHECK(at);
    CHECK_EQ(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    uintptr_t here = map->l_addr + strtoul(strchr(at, '+'), NULL, 16);
    CHECK(here - (uintptr_t)crashes_in_library + 4096 < 2 * 4096);
}

int main(int argc, char **argv) {
    static char text[4096];
#if FIN_SANITIZED
    SKIP("a sanitizer reports crashes itself");
#endif
    CHECK(argc > 1);
#ifndef __GLIBC__
    if (argc > 2)
        SKIP("this libc gives it the name of what has one before it");
#endif
    void *library = dlopen(argv[1], RTLD_NOW);
    CHECK(library);
    *(void **)&crashes_in_library = dlsym(library, "crashes_in_library");
    CHECK(crashes_in_library);
    CHECK_EQ(killed_by(crashes, text, sizeof text), SIGSEGV);
    CHECK(strstr(text, "entry crashes_in_library"));
    if (argc > 2)
        check_address(library, text);
    else
        CHECK(strstr(text, "at writes_in_library\n"));
    return 0;
}
