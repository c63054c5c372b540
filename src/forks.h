// SPDX-License-Identifier: BSD-2-Clause
// The child of a fork has one thread, and the locks as the others of its parent had them. What a room, or a library on top,
// does there is registered before its lock is taken for the first time.
#ifndef FIN_FORKS_H
#define FIN_FORKS_H

#include <pthread.h>
#include <stdbool.h>

// From now on in_child is called in the child of each fork. *watched, false at first, says that it is registered; where
// there is no memory for that, -ENOMEM, it is tried again with the next call. Threads that come at once may both register:
// in_child may run twice.
static inline int fin_watch_forks(bool *watched, void (*in_child)(void)) {
    if (__atomic_load_n(watched, __ATOMIC_ACQUIRE))
        return 0;
    int error = pthread_atfork(NULL, NULL, in_child);
    if (error == 0)
        __atomic_store_n(watched, true, __ATOMIC_RELEASE);
    return -error;
}

#endif
