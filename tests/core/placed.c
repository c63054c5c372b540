// SPDX-License-Identifier: BSD-2-Clause
// placed LIBRARY: reports name the static functions of a library that is linked at another address than 0.
#include <dlfcn.h>

#include <fin.h>

#include "process.h"

static void (*crashes_in_library)(void *);

static void crashes(void) {
    fin_finish {
        fin_async_call(crashes_in_library, NULL);
    }
}

int main(int argc, char **argv) {
    static char text[4096];
#if FIN_SANITIZED
    SKIP("a sanitizer reports crashes itself");
#endif
    CHECK_EQ(argc, 2);
    void *library = dlopen(argv[1], RTLD_NOW);
    CHECK(library);
    *(void **)&crashes_in_library = dlsym(library, "crashes_in_library");
    CHECK(crashes_in_library);
    CHECK_EQ(killed_by(crashes, text, sizeof text), SIGSEGV);
    CHECK(strstr(text, "entry crashes_in_library"));
    CHECK(strstr(text, "at writes_in_library\n"));
    return 0;
}
