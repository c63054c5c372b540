// SPDX-License-Identifier: BSD-2-Clause
// Calls at a file's position. A ring takes the position when it begins, without the lock that read(2) and write(2) take, and
// moves it only where the call ends at once: two that overlap would have the same part, and one that waited for the device
// would leave the position where it was. So the thread makes such calls itself, from and into the page cache, and the pool
// what would block. What has no position, a pipe or a socket, is the ring's.
//
// What the page cache has a part of only is taken back, and left to the pool as a whole, so that no other call comes between
// two parts of one: until then no call of the same file moves the position. (Of files whose numbers end alike, too. A thread
// does not wait for that: it leaves the call to the pool.) What was appended cannot be taken back.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "io/call.h"

enum { LOCKS = 64 };

// Exclusive: of a thread that tries. Shared: of the pool's, as the kernel lets one call after the other move a position.
static pthread_rwlock_t moves[LOCKS] = {[0 ... LOCKS - 1] = PTHREAD_RWLOCK_INITIALIZER};

void fin_position_forked(void) {
    for (unsigned i = 0; i < LOCKS; i++)
        pthread_rwlock_init(&moves[i], NULL); // who had them is not here
}

bool fin_io_of_file(const struct io *io, const struct call *c, ino_t *file) {
    return fin_io_at_position(c->op, c->off) && fin_io_kind_and_number(fin_descriptor(io, c), file) == FIN_IO_FILE;
}

struct whole {
    const struct call *call;
    pthread_rwlock_t *lock;
    int result;
};

static void on_pool(void *arg) {
    struct whole *w = arg;
    pthread_rwlock_rdlock(w->lock);
    w->result = fin_io_closed(w->call) ? -EBADF : fin_io_direct(w->call);
    pthread_rwlock_unlock(w->lock);
}

static FIN_BLOCKING int by_pool(struct io *io, const struct call *c, pthread_rwlock_t *lock) {
    struct whole w = {c, lock, 0};
    int error = fin_io_offload(io, on_pool, &w, c->nc);
    return error ? error : w.result;
}

// What was done cannot be taken back, and done again elsewhere.
static bool appends(const struct call *c) { return c->op == IORING_OP_WRITE && fcntl(c->fd, F_GETFL) & O_APPEND; }

static int sum(int done, int r) { return done == 0 ? r : r > 0 ? done + r : done; }

static FIN_BLOCKING int at_position(struct io *io, const struct call *c, pthread_rwlock_t *lock) {
    struct call rest = *c;
    int done = 0;
    if (pthread_rwlock_trywrlock(lock) == 0) {
        bool over = fin_io_try_file(io, c, &rest, &done);
        if (!over && done > 0 && !appends(c) && lseek(c->fd, -done, SEEK_CUR) >= 0) {
            rest = *c;
            done = 0;
        }
        pthread_rwlock_unlock(lock);
        if (over)
            return done;
    }
    return sum(done, by_pool(io, &rest, lock));
}

// The call of its descriptor, whatever the caller calls that.
static struct call plainly(const struct io *io, const struct call *call) {
    struct call c = *call;
    c.fd = fin_descriptor(io, call);
    c.sqe_flags = 0;
    c.since = c.since ? c.since : fin_closes_now();
    return c;
}

int fin_io_file(struct io *io, const struct call *call) {
    struct call c = plainly(io, call), rest;
    int done;
    return fin_io_try_file(io, &c, &rest, &done) ? done : sum(done, fin_io_by_pool(io, &rest));
}

int fin_io_file_here(struct io *io, const struct call *call, ino_t file) {
    struct call c = plainly(io, call);
    if (!c.nc && fin_cancelled())
        return -ECANCELED;
    int r = at_position(io, &c, &moves[file % LOCKS]);
    fin_io_let_others_run(io);
    return r;
}

long fin_io_run_here(struct io *io, uint64_t head, uint64_t addr, uint64_t tail, bool nc) {
    ino_t file;
    if (fin_io_kind_and_number((int)(head >> 32), &file) != FIN_IO_FILE)
        return fin_uring_quick(io, head, HERE, addr, tail, nc);
    struct call c = fin_io_of_words(head, HERE, addr, tail, nc);
    return fin_io_file_here(io, &c, file);
}
