// SPDX-License-Identifier: BSD-2-Clause
// unloaded LIBRARY: opens the library as a plugin would bring it, and closes it while threads that have used it run, its own
// pool among them. They end where its code still is.
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "check.h"

static int (*offload)(void (*)(void *), void *);
static pthread_barrier_t used, closed;

static void count(void *n) { ++*(int *)n; }

static void *use(void *unused) {
    int n = 0;
    CHECK_EQ(offload(count, &n), 0);
    CHECK_EQ(n, 1);
    pthread_barrier_wait(&used);
    pthread_barrier_wait(&closed);
    return unused;
}

int main(int argc, char **argv) {
    pthread_t t;
    CHECK_EQ(argc, 2);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        fprintf(stderr, "%s\n", why);
        CHECK(strstr(why, "initial-exec TLS"));
        SKIP("musl opens no library that has thread-local variables of a fixed place");
    }
    *(void **)&offload = dlsym(library, "fin_offload");
    CHECK(offload);
    pthread_barrier_init(&used, NULL, 2);
    pthread_barrier_init(&closed, NULL, 2);
    CHECK_EQ(pthread_create(&t, NULL, use, NULL), 0);
    pthread_barrier_wait(&used);
    CHECK_EQ(dlclose(library), 0);
    pthread_barrier_wait(&closed);
    CHECK_EQ(pthread_join(t, NULL), 0);
    return 0;
}
