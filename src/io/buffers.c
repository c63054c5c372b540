// SPDX-License-Identifier: BSD-2-Clause
// A receive of the ring is given a buffer when it has data. Where none is left it fails, also where there is no data yet; so
// the AWE waits for data first, then in a queue for a buffer, and then receives without waiting. The buffer that a return
// gave to it is passed on when it does not use it. Without a ring every receive goes that way.
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "io/buffers.h"
#include "io/fixed.h"
#include "io/uring.h"

enum { MOST = 32768 };

struct lacking {
    struct waiter waiter;
    struct fin_link link; // next is NULL where it waits no longer
    struct io *io;
};

static void wake(struct lacking *l, int result) {
    fin_link_remove(&l->link);
    l->link.next = NULL;
    fin_io_resume(l->io, &l->waiter, result);
}

static void wake_first(struct fin_buffers *b) {
    if (b->used < b->count && !fin_link_empty(&b->lacking))
        wake(FIN_OF(struct lacking, link, b->lacking.next), 0);
}

static void cancel(void *lacking) {
    struct lacking *l = lacking;
    if (l->link.next)
        wake(l, -ECANCELED);
}

static FIN_BLOCKING int wait_for_buffer(struct fin_buffers *b, bool nc) {
    struct lacking l = {.io = b->owned.io};
    if (b->used < b->count)
        return 0;
    if (!nc) {
        fin_cancel_add(&l.waiter.item, cancel, &l);
        if (fin_cancel_item_ran(&l.waiter.item))
            return -ECANCELED;
    }
    fin_link_back(&b->lacking, &l.link);
    fin_io_suspend(&l.waiter);
    if (!nc)
        fin_cancel_remove(&l.waiter.item);
    return l.waiter.result;
}

static void offer(struct fin_buffers *b, uint32_t index) {
    io_uring_buf_ring_add(b->ring, fin_buffers_at(b, index), (unsigned)b->size, (unsigned short)index, b->mask, 0);
    io_uring_buf_ring_advance(b->ring, 1);
}

static void make_free(struct fin_buffers *b, uint32_t index) {
    b->pieces[index].next = b->free;
    b->free = index;
}

void fin_buffers_put_index(struct fin_buffers *b, uint32_t index) {
    b->pieces[index].given = false;
    b->used--;
    if (b->ring)
        offer(b, index);
    else
        make_free(b, index);
    wake_first(b);
}

// A piece of nothing goes back at once.
uint32_t fin_buffers_taken(struct fin_buffers *b, int result, uint32_t flags) {
    if (!(flags & IORING_CQE_F_BUFFER))
        return NO_PIECE;
    uint32_t index = flags >> IORING_CQE_BUFFER_SHIFT;
    b->used++;
    if (result > 0) {
        b->pieces[index].size = (uint32_t)result;
        if (FIN_UNLIKELY(fin_on_valgrind))
            fin_track_written(fin_buffers_at(b, index), (size_t)result);
        return index;
    }
    fin_buffers_put_index(b, index);
    return NO_PIECE;
}

static struct call receive(const struct fin_buffers *b, int fd, int flags, bool nc) {
    return (struct call){.op = IORING_OP_RECV, .fd = fd, .flags = (uint32_t)flags, .len = (uint32_t)b->size, .nc = nc};
}

static FIN_BLOCKING ssize_t from_ring(struct fin_buffers *b, int fd, void **piece, int flags, bool nc) {
    struct call c = receive(b, fd, flags, nc);
    uint32_t completed;
    c.sqe_flags = IOSQE_BUFFER_SELECT;
    c.buf_index = b->group;
    c.since = fin_closes_now();
    ssize_t n = fin_uring_run(b->owned.io, &c, &completed);
    uint32_t index = fin_buffers_taken(b, (int)n, completed);
    if (index != NO_PIECE)
        *piece = fin_buffers_give(b, index);
    return !(flags & MSG_DONTWAIT) && fin_buffers_lacked(n, completed) ? -ENOBUFS : n;
}

static ssize_t from_list(struct fin_buffers *b, int fd, void **piece, bool nc) {
    uint32_t index = b->free;
    if (index == NO_PIECE)
        return -ENOBUFS;
    struct call c = receive(b, fd, MSG_DONTWAIT, nc);
    c.addr = fin_buffers_at(b, index);
    b->free = b->pieces[index].next;
    b->used++;
    ssize_t n = b->owned.io->backend->run(b->owned.io, &c);
    if (n > 0)
        *piece = fin_buffers_give(b, index);
    else
        fin_buffers_put_index(b, index);
    return n;
}

static FIN_BLOCKING ssize_t at_once(struct fin_buffers *b, int fd, void **piece, bool nc) {
    return b->ring ? from_ring(b, fd, piece, MSG_DONTWAIT, nc) : from_list(b, fd, piece, nc);
}

int fin_buffers_refused(int fd, uint64_t since) {
    const struct call c = {.fd = fd, .since = since};
    int peek = MSG_DONTWAIT | MSG_PEEK; // a message that is there stays there
    if (fin_io_closed(&c))
        return -EBADF;
    int r = fin_socket_option(fd, SO_ACCEPTCONN) == 0 ? 0 : fin_io_result(recv(fd, NULL, 0, peek));
    return r == -EAGAIN ? 0 : r; // a socket that denies to be asked
}

// There was nothing, though it is ready: somebody was faster, or it is ready for ever, as where an error is in its queue
// that nobody reads. Then no event will tell of data.
static FIN_BLOCKING int pause_if_ready(int fd, bool nc) {
    if (fin_io_ready_now(fin_io_descriptor(fd), POLLIN) == 0)
        return 0;
    return fin_io_pause(nc);
}

ssize_t fin_buffers_recv_late(struct fin_buffers *b, int fd, uint64_t since, void **piece, bool nc) {
    const struct call c = {.fd = fd, .since = since};
    ssize_t n;
    *piece = NULL;
    do {
        n = fin_io_closed(&c) ? -EBADF : fin_io_poll(fd, POLLIN, nc);
        if (n < 0)
            return n;
        n = wait_for_buffer(b, nc);
        if (n == 0)
            n = fin_io_closed(&c) ? -EBADF : at_once(b, fd, piece, nc);
        wake_first(b); // whoever was woken for a buffer that is still there passes it on
        int error = n == -EAGAIN ? pause_if_ready(fd, nc) : 0;
        if (error)
            return error;
    } while (n == -EAGAIN || n == -ENOBUFS);
    return n;
}

static FIN_BLOCKING ssize_t receive_checked(struct fin_buffers *b, int fd, void **piece, int flags, bool nc) {
    *piece = NULL;
    if (!fin_owned_here(&b->owned))
        return -EXDEV;
    if (flags & ~MSG_DONTWAIT)
        return -EINVAL;
    if (fd >= FIXED)
        return -EBADF;
    b->users++;
    uint64_t since = fin_closes_now();
    ssize_t n = -ENOBUFS;
    if (flags & MSG_DONTWAIT)
        n = !nc && fin_cancelled() ? -ECANCELED : at_once(b, fd, piece, nc);
    else if (b->ring)
        n = from_ring(b, fd, piece, 0, nc);
    if (n == -ENOBUFS && !(flags & MSG_DONTWAIT)) {
        n = !nc && fin_cancelled() ? -ECANCELED : fin_buffers_refused(fd, since);
        if (n == 0)
            n = fin_buffers_recv_late(b, fd, since, piece, nc);
    }
    b->users--;
    return n;
}

ssize_t fin_buffers_recv(struct fin_buffers *b, int fd, void **piece, int flags) {
    return receive_checked(b, fd, piece, flags, false);
}

ssize_t fin_buffers_recv_nc(struct fin_buffers *b, int fd, void **piece, int flags) {
    return receive_checked(b, fd, piece, flags, true);
}

int fin_buffers_put(struct fin_buffers *b, void *piece) {
    size_t index = (size_t)((uintptr_t)piece - (uintptr_t)b->memory) / b->size;
    if (!fin_owned_here(&b->owned))
        return -EXDEV;
    if (index >= b->count || !b->pieces[index].given)
        return -EINVAL;
    fin_buffers_put_index(b, (uint32_t)index);
    return 0;
}

// Where it was, liburing may map the next ring of another thread.
static void unmap(void *ring, size_t size) {
    fin_track_mapping(false);
    munmap(ring, size);
}

// A group is a number of 16 bits; those in use are known by their rings alone, so the kernel says which is free.
static bool make_ring(struct fin_buffers *b) {
    struct io *io = b->owned.io;
    unsigned entries = 1;
    while (entries < b->count)
        entries *= 2;
    b->ring_size = entries * sizeof(struct io_uring_buf);
    void *ring = mmap(NULL, b->ring_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ring == MAP_FAILED)
        return false;
    struct io_uring_buf_reg reg = {.ring_addr = (uint64_t)(uintptr_t)ring, .ring_entries = entries};
    for (int tries = 0; tries < MOST; tries++) {
        reg.bgid = io->uring.groups++;
        int error = io_uring_register_buf_ring(&io->uring.ring, &reg, 0);
        if (error == -EEXIST)
            continue;
        if (error)
            break;
        b->ring = ring;
        b->group = reg.bgid;
        b->mask = (uint16_t)(entries - 1);
        return true;
    }
    unmap(ring, b->ring_size);
    return false;
}

static void dispose(struct fin_buffers *b) {
    if (b->ring)
        unmap(b->ring, b->ring_size);
    fin_owned_remove(&b->owned);
    free(b->memory);
    free(b->pieces);
    free(b);
}

static void lost(struct owned *o) { dispose(FIN_OF(struct fin_buffers, owned, o)); }

int fin_buffers_open(struct fin_buffers **out, unsigned count, size_t size) {
    struct io *io;
    int error = fin_io_here(&io);
    if (error)
        return error;
    if (count == 0 || count > MOST || size == 0 || size > INT32_MAX / 2)
        return -EINVAL;
    struct fin_buffers *b = calloc(1, sizeof *b);
    if (!b)
        return -ENOMEM;
    b->memory = malloc(count * size);
    b->pieces = calloc(count, sizeof *b->pieces);
    b->count = count;
    b->size = size;
    b->free = NO_PIECE;
    fin_link_init(&b->lacking);
    fin_owned_add(&b->owned, io, lost);
    if (!b->memory || !b->pieces) {
        dispose(b);
        return -ENOMEM;
    }
    if (io->can.buffer_rings)
        make_ring(b);
    for (uint32_t i = count; i-- > 0;)
        b->ring ? offer(b, i) : make_free(b, i);
    *out = b;
    return 0;
}

int fin_buffers_close(struct fin_buffers *b) {
    if (!fin_owned_here(&b->owned))
        return -EXDEV;
    if (b->users)
        return -EBUSY;
    if (b->ring)
        io_uring_unregister_buf_ring(&b->owned.io->uring.ring, b->group);
    dispose(b);
    return 0;
}
