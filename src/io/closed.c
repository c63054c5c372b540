// SPDX-License-Identifier: BSD-2-Clause
// Which numbers fin_close has closed since a call began. A call that waited is made again by its number, which may be that
// of another file by then. So each call has in it how many closes there had been (`since`), and is not made again where its
// descriptor's last came later.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "io/fixed.h"
#include "io/uring.h"

// As many as Linux lets a process have, unless it is told otherwise (fs.nr_open); beyond that two share a place, and the
// close of one ends what waits for the other. Memory that is not written costs nothing.
enum { PLACES = 1 << 20 };

// A close counts from its beginning. While any is in progress all that have begun count; then those that did close it.
static struct place {
    uint64_t begun, done; // the last ones
    uint32_t in_progress;
    uint32_t linked; // steps of chains
} places[PLACES];

uint64_t fin_closes = 1;

static struct place *of(int fd) { return &places[(unsigned)fd % PLACES]; }

// Of a number beyond, where no file is, the place is only another's.
static bool is_no_number(int fd) { return fd < 0 || (fd >= PLACES && fcntl(fd, F_GETFD) < 0 && errno == EBADF); }

uint64_t fin_close_begins(int fd) {
    if (is_no_number(fd))
        return 0;
    uint64_t now = __atomic_add_fetch(&fin_closes, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&of(fd)->in_progress, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&of(fd)->begun, now, __ATOMIC_RELEASE);
    return now;
}

// Where another one begins meanwhile, in another thread, that one counts.
void fin_close_ends(int fd, uint64_t now, bool closed) {
    struct place *p = of(fd);
    if (now == 0)
        return;
    if (closed && __atomic_load_n(&p->done, __ATOMIC_RELAXED) < now)
        __atomic_store_n(&p->done, now, __ATOMIC_RELAXED);
    uint64_t begun = __atomic_load_n(&p->begun, __ATOMIC_RELAXED), done = __atomic_load_n(&p->done, __ATOMIC_RELAXED);
    if (__atomic_sub_fetch(&p->in_progress, 1, __ATOMIC_ACQ_REL) == 0)
        __atomic_compare_exchange_n(&p->begun, &begun, done, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void fin_close_linked(int fd, bool linked) {
    __atomic_add_fetch(&of(fd)->linked, linked ? 1 : UINT32_MAX, __ATOMIC_RELAXED);
}

bool fin_close_is_linked(int fd) { return __atomic_load_n(&of(fd)->linked, __ATOMIC_RELAXED) != 0; }

int fin_close_result(int result) {
    return fin_uring_interrupted(result) ? 0 : result == -ECANCELED ? -EIO : result;
}

int fin_close_at_once(int fd) {
    uint64_t begun = fin_close_begins(fd);
    int r = fin_io_result(close(fd));
    fin_close_ends(fd, begun, true);
    return fin_close_result(r);
}

static bool closed_since(int fd, uint64_t since) {
    return since && fd >= 0 && fd < FIXED && __atomic_load_n(&of(fd)->begun, __ATOMIC_ACQUIRE) > since;
}

// Of a call with two: the second one.
static int second(const struct call *c) {
    switch (c->op & ~FIN_OP_POOL) {
    case IORING_OP_SPLICE:
    case IORING_OP_TEE:
    case FIN_OP_COPY & ~FIN_OP_POOL:
        return (int)c->file_index;
    case IORING_OP_RENAMEAT:
    case IORING_OP_LINKAT:
        return (int)c->len;
    default:
        return -1;
    }
}

bool fin_any_closed(const struct call *c) {
    bool fixed = c->sqe_flags & IOSQE_FIXED_FILE;
    return (!fixed && closed_since(c->fd, c->since)) || closed_since(second(c), c->since);
}
