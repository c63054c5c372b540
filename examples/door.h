// SPDX-License-Identifier: BSD-2-Clause
// The accept loop of a server: it waits for the next connection without a stack. `serve` has one of its own, and may be
// sequential code. Connections that are idle for long can do without, too: examples/tls.c, examples/hello.c.
//
//     struct door door = {.listener = listener, .serve = converse, .with = server}, *d = &door;
//     fin_finish {
//         fin_async_cont(keep_door, &d, sizeof d);
//     }
#ifndef FIN_EXAMPLES_DOOR_H
#define FIN_EXAMPLES_DOOR_H

#include <errno.h>

#include <fin.h>

#include "example.h"

struct door {
    struct fin_on on;
    int listener;
    void (*serve)(int fd, void *with);
    void *with;
};

struct visitor {
    const struct door *door;
    int fd;
};

static inline FIN_BLOCKING void visit(void *state, int result) {
    struct visitor v = *(struct visitor *)state;
    (void)result;
    v.door->serve(v.fd, v.door->with);
    fin_cont_end();
}

// Until it is cancelled, or the listener is at fault. Where descriptors run out, some connection has to end first.
static inline FIN_BLOCKING void opened(void *state, int fd) {
    struct door *d = *(struct door **)state;
    bool short_of = fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM;
    if (fd < 0 && !short_of && fd != -ECONNABORTED)
        fin_cont_end();
    if (short_of)
        fin_sleep(10 * FIN_MS);
    struct visitor v = {d, fd};
    EXPECT(fd < 0 || fin_async_cont_beside(visit, &v, sizeof v));
    fin_accept_on(&d->on, d->listener, 0, opened, &d, sizeof d);
}

static inline void keep_door(void *state, int result) {
    struct door *d = *(struct door **)state;
    (void)result;
    fin_accept_on(&d->on, d->listener, 0, opened, &d, sizeof d);
}

#endif
