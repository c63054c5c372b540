// SPDX-License-Identifier: BSD-2-Clause
// To be loaded before other libraries: a system that gives no more threads.
#include <errno.h>
#include <pthread.h>

int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg) {
    (void)t, (void)attr, (void)fn, (void)arg;
    return EAGAIN;
}
