// SPDX-License-Identifier: BSD-2-Clause
// Registered files and memory, and sending without a copy.
#include <fin/fixed.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "io/cached.h"
#include "io/fixed.h"

enum { MEMORIES = 64, NO_SLOT = -1, MOST_AT_ONCE = 16 << 10 };

struct fin_memory {
    struct owned owned;
    char *base;
    size_t size;
    unsigned users;
    int slot; // in the ring, or NO_SLOT
};

// What the page cache has is read as by its own number (by_slot, below).
static inline FIN_BLOCKING int read_at_once(struct io *io, const struct call *c) {
    if (c->op != IORING_OP_READ || io->backend != &fin_io_uring || !fin_io_is_alone(io))
        return -EAGAIN;
    return fin_uring_read_at_once(io, fin_io_descriptor(c->fd), (uintptr_t)c->addr, c->len, c->off, c->flags, c->nc);
}

// The turn comes before the call is made: a descriptor that it makes is the caller's at once. But it has begun, and who has
// that turn may unregister the number, and close what it stood for.
static FIN_BLOCKING int run_fixed(struct io *io, struct call *c) {
    int n = read_at_once(io, c);
    if (n >= 0)
        return n;
    int slot = fin_fixed_file(io, c);
    if (slot < 0)
        return slot;
    fin_io_let_others_run(io);
    int r = fin_io_closed(c) ? -EBADF : fin_io_by_backend(io, c);
    fin_fixed_done(io, slot);
    return r;
}

static FIN_BLOCKING int run_checked(struct io *io, struct call *c) {
    c->since = c->since ? c->since : fin_closes_now();
    if (FIN_UNLIKELY(c->fd >= FIXED))
        return run_fixed(io, c);
    fin_io_let_others_run(io);
    if (FIN_UNLIKELY(fin_io_closed(c)))
        return -EBADF;
    return fin_io_by_backend(io, c);
}

// A close needs no more than the system call. Were it refused to a thread for which there is no descriptor left, none would
// ever be given back there.
int fin_io_run(struct call c) {
    struct io *io;
    int error = fin_io_here(&io);
    if (FIN_UNLIKELY(error && c.op == IORING_OP_CLOSE))
        return !c.nc && fin_cancelled() ? -ECANCELED : fin_close_at_once(c.fd);
    return error ? error : run_checked(io, &c);
}

struct call fin_io_of_words(uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc) {
    return (struct call){.op = (uint8_t)head,
                         .sqe_flags = (uint8_t)(head >> 8),
                         .ioprio = (uint16_t)(head >> 16),
                         .fd = (int)(head >> 32),
                         .off = off,
                         .addr = (const void *)(uintptr_t)addr,
                         .len = (uint32_t)tail,
                         .flags = (uint32_t)(tail >> 32),
                         .nc = nc};
}

long fin_io_run_words(uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc) {
    return fin_io_run(fin_io_of_words(head, off, addr, tail, nc));
}

// Files

static uint32_t last_tag;

static int new_number(unsigned slot) {
    uint32_t tag = __atomic_add_fetch(&last_tag, 1, __ATOMIC_RELAXED);
    return (int)(FIXED | ((tag << SLOT_BITS) & (FIXED - 1)) | slot);
}

static struct files *make_table(struct io *io) {
    struct files *f = calloc(1, sizeof *f);
    if (f && io->backend == &fin_io_uring) {
        int none[FILES];
        for (int i = 0; i < FILES; i++)
            none[i] = -1;
        f->in_ring = io_uring_register_files(&io->uring.ring, none, FILES) == 0;
    }
    return f;
}

int fin_file_register(int fd) {
    struct io *io;
    int error = fin_io_here(&io);
    if (error)
        return error;
    error = fd >= FIXED ? -EBADF : fcntl(fd, F_GETFD) < 0 ? -errno : 0;
    if (error)
        return error;
    if (!io->files && !(io->files = make_table(io)))
        return -ENOMEM;
    struct files *f = io->files;
    for (unsigned i = 0; i < FILES; i++) {
        unsigned slot = f->next++ % FILES;
        if (f->slot[slot].number || f->slot[slot].users)
            continue;
        int known = f->in_ring ? io_uring_register_files_update(&io->uring.ring, slot, &fd, 1) : 1;
        if (known != 1) // -EBADF: O_PATH
            return known == -EBADF ? -EBADF : -ENOMEM;
        f->slot[slot].fd = fd;
        return f->slot[slot].number = new_number(slot);
    }
    return -ENFILE;
}

static int slot_of(int file) {
    struct io *io;
    unsigned slot = (unsigned)file % FILES;
    if (file < FIXED || fin_io_here(&io) != 0 || !io->files || io->files->slot[slot].number != file)
        return -EBADF;
    return (int)slot;
}

static void free_slot(struct io *io, int slot) {
    int none = -1;
    if (io->files->in_ring && !io->parents)
        io_uring_register_files_update(&io->uring.ring, (unsigned)slot, &none, 1);
}

int fin_file_unregister(int file) {
    struct io *io;
    int slot = slot_of(file);
    if (slot < 0)
        return slot;
    fin_io_here(&io);
    io->files->slot[slot].number = 0;
    if (io->files->slot[slot].users == 0)
        free_slot(io, slot);
    return 0;
}

void fin_fixed_done(struct io *io, int slot) {
    if (--io->files->slot[slot].users == 0 && io->files->slot[slot].number == 0)
        free_slot(io, slot);
}

#define BIT(op) (UINT64_C(1) << (op))
static const uint64_t of_slots = BIT(IORING_OP_READ) | BIT(IORING_OP_WRITE) | BIT(IORING_OP_READV) | BIT(IORING_OP_WRITEV) |
                                 BIT(IORING_OP_READ_FIXED) | BIT(IORING_OP_WRITE_FIXED) | BIT(IORING_OP_SEND) |
                                 BIT(IORING_OP_RECV) | BIT(IORING_OP_SENDMSG) | BIT(IORING_OP_RECVMSG) |
                                 BIT(IORING_OP_SEND_ZC) | BIT(IORING_OP_SENDMSG_ZC) | BIT(IORING_OP_ACCEPT) |
                                 BIT(IORING_OP_POLL_ADD) | BIT(IORING_OP_FSYNC);

int fin_fixed_file(struct io *io, struct call *c) {
    int slot = slot_of(c->fd);
    if (slot < 0)
        return slot;
    struct files *f = io->files;
    bool known = c->op < 64 && (of_slots & BIT(c->op));
    if (!known && c->op != IORING_OP_CONNECT)
        return -EBADF;
    c->fd = f->in_ring && known ? slot : f->slot[slot].fd;
    c->sqe_flags |= f->in_ring && known ? IOSQE_FIXED_FILE : 0;
    f->slot[slot].users++;
    return slot;
}

int fin_io_descriptor(int fd) {
    struct io *io;
    int slot = fd >= FIXED ? slot_of(fd) : -1;
    return slot >= 0 && fin_io_here(&io) == 0 ? io->files->slot[slot].fd : fd;
}

int fin_socket_option(int fd, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(fin_io_descriptor(fd), SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

// Memory

static bool make_slots(struct io *io) {
    struct uring *u = &io->uring;
    struct iovec none[MEMORIES] = {0};
    uint64_t tags[MEMORIES] = {0};
    if (io->backend != &fin_io_uring)
        return false;
    if (!u->has_slots)
        u->has_slots = io_uring_register_buffers_tags(&u->ring, none, (__u64 *)tags, MEMORIES) == 0;
    return u->has_slots;
}

static int set_slot(struct io *io, int slot, void *memory, size_t size) {
    struct iovec v = {memory, size};
    __u64 tag = 0;
    return io_uring_register_buffers_update_tag(&io->uring.ring, (unsigned)slot, &v, &tag, 1);
}

static int take_slot(struct io *io, void *memory, size_t size) {
    if (!make_slots(io) || io->uring.slots == UINT64_MAX)
        return NO_SLOT;
    int slot = __builtin_ctzll(~io->uring.slots);
    if (set_slot(io, slot, memory, size) != 1) // what may be locked in memory is limited
        return NO_SLOT;
    io->uring.slots |= UINT64_C(1) << slot;
    return slot;
}

static void dispose(struct fin_memory *m) {
    fin_owned_remove(&m->owned);
    free(m);
}

static void lost(struct owned *o) { dispose(FIN_OF(struct fin_memory, owned, o)); }

int fin_memory_register(struct fin_memory **out, void *memory, size_t size) {
    struct io *io;
    int error = fin_io_here(&io);
    if (error)
        return error;
    if (!memory || size == 0)
        return -EINVAL;
    struct fin_memory *m = malloc(sizeof *m);
    if (!m)
        return -ENOMEM;
    *m = (struct fin_memory){.base = memory, .size = size, .slot = take_slot(io, memory, size)};
    fin_owned_add(&m->owned, io, lost);
    *out = m;
    return 0;
}

int fin_memory_unregister(struct fin_memory *m) {
    if (!fin_owned_here(&m->owned))
        return -EXDEV;
    if (m->users)
        return -EBUSY;
    struct uring *u = &m->owned.io->uring;
    if (m->slot != NO_SLOT) {
        set_slot(m->owned.io, m->slot, NULL, 0);
        u->slots &= ~(UINT64_C(1) << m->slot);
    }
    dispose(m);
    return 0;
}

// The words of a call, and the number of its memory, go on in registers: to the ring, of which the thread is, or ...
typedef FIN_BLOCKING long words_fn(struct io *io, uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc,
                                   uint16_t index);
// ... where there is more to it.
static __attribute__((noinline)) FIN_BLOCKING long run_words(struct io *io, uint64_t head, uint64_t off, uint64_t addr,
                                                             uint64_t tail, bool nc, uint16_t index) {
    struct call c = fin_io_of_words(head, off, addr, tail, nc);
    c.buf_index = index;
    return run_checked(io, &c);
}

static inline FIN_BLOCKING ssize_t run_by(words_fn *run, struct io *io, struct call c) {
    uint64_t head = (uint64_t)(uint32_t)c.fd << 32 | (uint32_t)c.sqe_flags << 8 | c.op;
    return run(io, head, c.off, (uintptr_t)c.addr, c.len, c.nc, c.buf_index);
}

static inline FIN_BLOCKING ssize_t of_number(struct io *io, struct call c) {
    struct files *f = io->files;
    unsigned slot = (unsigned)c.fd % FILES;
    if (FIN_UNLIKELY(!f || !f->in_ring || f->slot[slot].number != c.fd))
        return run_by(run_words, io, c);
    c.fd = (int)slot;
    c.sqe_flags = IOSQE_FIXED_FILE;
    f->slot[slot].users++;
    ssize_t n = run_by(fin_uring_quick_fixed, io, c);
    fin_fixed_done(io, (int)slot);
    return n;
}

// Where the thread has nothing else to do, what the page cache has is read as by fin_pread: up to some size it takes less
// time than by the ring, also by one that knows the file and the memory. To memory that it knows the kernel copies quicker:
// 16 KiB take 0.97 of the ring's time at once, 32 KiB 1.1, 64 KiB 1.17 (AMD Zen 4).
static inline FIN_BLOCKING ssize_t by_slot(struct fin_memory *m, struct call c) {
    struct io *io = m->owned.io;
    int n = c.len <= MOST_AT_ONCE ? read_at_once(io, &c) : -EAGAIN;
    if (n >= 0)
        return n;
    c.op = c.op == IORING_OP_READ ? IORING_OP_READ_FIXED : IORING_OP_WRITE_FIXED;
    c.buf_index = (uint16_t)m->slot;
    return c.fd >= FIXED ? of_number(io, c) : run_by(fin_uring_quick_fixed, io, c);
}

static inline FIN_BLOCKING ssize_t transfer(struct fin_memory *m, struct call c, off_t offset) {
    size_t at = (uintptr_t)c.addr - (uintptr_t)m->base;
    if (!fin_owned_here(&m->owned))
        return -EXDEV;
    if (at > m->size || c.len > m->size - at || offset < 0)
        return -EINVAL;
    c.off = (uint64_t)offset;
    m->users++;
    ssize_t n = m->slot == NO_SLOT ? run_by(run_words, m->owned.io, c) : by_slot(m, c);
    m->users--;
    return n;
}

#define CALL(name, type, operation, no)                                                                                     \
    ssize_t name(int fd, struct fin_memory *m, type *p, size_t size, off_t offset) {                                        \
        return transfer(m, (struct call){.op = operation, .fd = fd, .addr = p, .len = fin_io_most(size), .nc = no},         \
                        offset);                                                                                            \
    }
CALL(fin_pread_fixed, void, IORING_OP_READ, false)
CALL(fin_pread_fixed_nc, void, IORING_OP_READ, true)
CALL(fin_pwrite_fixed, const void, IORING_OP_WRITE, false)
CALL(fin_pwrite_fixed_nc, const void, IORING_OP_WRITE, true)

// Zero-copy

static bool can_without_copy(const struct io *io, uint8_t op) {
    return op == IORING_OP_SEND_ZC ? io->can.zero_copy : io->can.zero_copy_msg;
}

// What the socket cannot send without a copy, or the memory that may be locked does not allow, is sent with one: to that
// socket, whatever has got its number meanwhile, or a registered one.
static FIN_BLOCKING ssize_t send_zc(struct call c) {
    struct io *io;
    int error = fin_io_here(&io);
    if (error)
        return error;
    if (can_without_copy(io, c.op)) {
        c.since = fin_closes_now();
        struct call without = c;
        c.fd = fin_io_descriptor(c.fd);
        ssize_t n = run_checked(io, &without);
        if (n != -EOPNOTSUPP && n != -ENOMEM && n != -ENOBUFS)
            return n;
        if (fin_io_closed(&c))
            return -EBADF;
    }
    if (c.op == IORING_OP_SENDMSG_ZC)
        return (c.nc ? fin_sendmsg_nc : fin_sendmsg)(c.fd, c.addr, (int)c.flags);
    return (c.nc ? fin_send_nc : fin_send)(c.fd, c.addr, c.len, (int)c.flags);
}

static struct call sending(int fd, const void *data, size_t size, int flags, bool nc) {
    return (struct call){.op = IORING_OP_SEND_ZC,
                         .fd = fd,
                         .addr = data,
                         .len = fin_io_most(size),
                         .nc = nc,
                         .flags = (uint32_t)flags | MSG_NOSIGNAL};
}

ssize_t fin_send_zc(int fd, const void *data, size_t size, int flags) {
    return send_zc(sending(fd, data, size, flags, false));
}

ssize_t fin_send_zc_nc(int fd, const void *data, size_t size, int flags) {
    return send_zc(sending(fd, data, size, flags, true));
}

static struct call sending_message(int fd, const struct msghdr *message, int flags, bool nc) {
    return (struct call){
        .op = IORING_OP_SENDMSG_ZC, .fd = fd, .addr = message, .len = 1, .nc = nc, .flags = (uint32_t)flags | MSG_NOSIGNAL};
}

ssize_t fin_sendmsg_zc(int fd, const struct msghdr *message, int flags) {
    return send_zc(sending_message(fd, message, flags, false));
}

ssize_t fin_sendmsg_zc_nc(int fd, const struct msghdr *message, int flags) {
    return send_zc(sending_message(fd, message, flags, true));
}
