// SPDX-License-Identifier: BSD-2-Clause
// What the files with public functions share: each function is one request of the back end that the thread has.
#ifndef FIN_IO_CALL_H
#define FIN_IO_CALL_H

#include "io/fixed.h"

static inline int run(const struct call *c) {
    struct io *io;
    if (FIN_UNLIKELY(c->fd >= FIXED))
        return fin_fixed_run(c);
    int error = fin_io_here(&io);
    return error ? error : io->backend->run(io, c);
}

static inline uint64_t word(const void *p) { return (uint64_t)(uintptr_t)p; }

// The cancellable function and its twin.
#define CALL_IF(bad, type, name, parameters, ...)                                                                           \
    type name parameters { return (bad) ? -EINVAL : run(&(struct call){__VA_ARGS__}); }                                     \
    type name##_nc parameters { return (bad) ? -EINVAL : run(&(struct call){__VA_ARGS__, .nc = true}); }
#define CALL(type, name, parameters, ...) CALL_IF(false, type, name, parameters, __VA_ARGS__)

// Two functions of what takes more than one call: `function` has one parameter more, whether it is to be shielded.
#define TWICE(type, name, parameters, function, ...)                                                                        \
    type name parameters { return function(__VA_ARGS__, false); }                                                           \
    type name##_nc parameters { return function(__VA_ARGS__, true); }

#endif
