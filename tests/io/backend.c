// SPDX-License-Identifier: BSD-2-Clause
// FIN_IO is obeyed, and each thread can be told another.
#include <pthread.h>

#include "net.h"

static void *backend(void *unused) {
    (void)unused;
    return (void *)fin_io_backend();
}

static const char *with(const char *name) {
    void *result;
    pthread_t t;
    setenv("FIN_IO", name, 1);
    CHECK_EQ(pthread_create(&t, NULL, backend, NULL), 0);
    CHECK_EQ(pthread_join(t, &result), 0);
    return result;
}

int main(void) {
    CHECK(strcmp(with("epoll"), "epoll, because of FIN_IO=epoll") == 0);
    if (strncmp(with(""), "epoll", 5) == 0)
        SKIP("no io_uring here");
    CHECK(strcmp(with("plain"), "io_uring, without the features of newer kernels") == 0);
    CHECK(strcmp(with("5.15"), "io_uring, without the features of newer kernels") == 0);
    CHECK(strstr(with("eproll"), "; FIN_IO says what is not known") != NULL);
    CHECK(strstr(with("6.1"), "; FIN_IO") == NULL);
    CHECK(strstr(with("5.18"), "multishot") == NULL);
    CHECK(strstr(with("5.19"), "multishot receive") == NULL);
    CHECK(strstr(with("6.0"), "deferred") == NULL);
    CHECK(strncmp(with(""), "io_uring", 8) == 0);
    CHECK(strncmp(with("small"), "io_uring", 8) == 0);
    return 0;
}
