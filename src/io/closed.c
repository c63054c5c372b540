// SPDX-License-Identifier: BSD-2-Clause
// Which numbers fin_close has closed since a call began. A call that waited is made again by its number, which may be that
// of another file by then. So each call has in it how many closes there had been (`since`), and is not made again where its
// descriptor's last came later.
#include "io/fixed.h"

// As many as Linux lets a process have, unless it is told otherwise (fs.nr_open); beyond that two share a place, and the
// close of one ends what waits for the other. Memory that is not written costs nothing.
enum { PLACES = 1 << 20 };

uint64_t fin_closes = 1;
static uint64_t last[PLACES];

static uint64_t *of(int fd) { return &last[(unsigned)fd % PLACES]; }

struct closing fin_closing(int fd) {
    struct closing c = {.now = __atomic_add_fetch(&fin_closes, 1, __ATOMIC_RELAXED)};
    if (fd >= 0)
        c.before = __atomic_exchange_n(of(fd), c.now, __ATOMIC_RELEASE);
    return c;
}

// Another close of it may have come meanwhile.
void fin_not_closed(int fd, struct closing c) {
    if (fd >= 0)
        __atomic_compare_exchange_n(of(fd), &c.now, c.before, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static bool closed_since(int fd, uint64_t since) {
    return since && fd >= 0 && fd < FIXED && __atomic_load_n(of(fd), __ATOMIC_ACQUIRE) > since;
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
