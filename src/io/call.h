// SPDX-License-Identifier: BSD-2-Clause
// What the files with public functions share: each function is one request of the back end that the thread has.
#ifndef FIN_IO_CALL_H
#define FIN_IO_CALL_H

#include "io/fixed.h"
#include "io/uring.h"

#define HERE UINT64_MAX // in the kernel's interface the offset -1 means the file's position

static inline uint64_t word(const void *p) { return (uint64_t)(uintptr_t)p; }

// Most are four words, which go on in registers: to the ring, where there is one that knows the operation. The compiler can
// tell which: of those it makes no struct. (Of a splice or tee from descriptor 0 the fifth word is 0, too, but it is not the
// ring's: splice.c.)
static inline FIN_BLOCKING long run(struct call c) {
    bool is_splice = c.op == IORING_OP_SPLICE || c.op == IORING_OP_TEE;
    if (c.op >= FIN_OP_POOL || c.buf_index || c.file_index || c.addr3 || fin_io_makes_descriptor(c.op) ||
        c.op == IORING_OP_CLOSE || is_splice)
        return fin_io_run(c);
    struct io *io = FIN_LIKELY(fin_self != NULL) ? (struct io *)fin_rt(fin_self)->poller : NULL;
    uint64_t head = (uint64_t)(uint32_t)c.fd << 32 | (uint32_t)c.ioprio << 16 | (uint32_t)c.sqe_flags << 8 | c.op;
    uint64_t tail = (uint64_t)c.flags << 32 | c.len;
    if (FIN_UNLIKELY(!io || c.fd >= FIXED || !(io->can.ops >> c.op & 1) || fin_io_nothing(&c)))
        return c.message ? fin_io_run(c) : fin_io_run_words(head, c.off, word(c.addr), tail, c.nc);
    if (fin_io_at_position(c.op, c.off))
        return fin_io_run_here(io, head, word(c.addr), tail, c.nc);
    bool sends = c.op == IORING_OP_SEND, reads = (uint32_t)head == IORING_OP_READ; // and no flags
    bool transfers = c.op == IORING_OP_RECV || c.op == IORING_OP_RECVMSG || c.op == IORING_OP_SENDMSG;
    return (c.message   ? fin_uring_quick_message
            : sends     ? fin_uring_quick_send
            : transfers ? fin_uring_quick_transfer
            : reads     ? fin_uring_quick_read
                        : fin_uring_quick)(io, head, c.off, word(c.addr), tail, c.nc);
}

// Of one that has `since`: it has been made before.
static inline FIN_BLOCKING long run_again(struct call c) { return fin_io_closed(&c) ? -EBADF : run(c); }

// The cancellable function and its twin.
#define CALL_IF(bad, type, name, parameters, ...)                                                                           \
    type name parameters { return (bad) ? -EINVAL : run((struct call){__VA_ARGS__}); }                                      \
    type name##_nc parameters { return (bad) ? -EINVAL : run((struct call){__VA_ARGS__, .nc = true}); }
#define CALL(type, name, parameters, ...) CALL_IF(false, type, name, parameters, __VA_ARGS__)

// Two functions of what takes more than one call: `function` has one parameter more, whether it is to be shielded.
#define TWICE(type, name, parameters, function, ...)                                                                        \
    type name parameters { return function(__VA_ARGS__, false); }                                                           \
    type name##_nc parameters { return function(__VA_ARGS__, true); }

#endif
