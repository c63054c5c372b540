// SPDX-License-Identifier: BSD-2-Clause
// Calls at a file's position. A ring takes the position when it begins, without the lock that read(2) and write(2) take, and
// moves it only where the call ends at once: two that overlap would have the same part, and one that waited for the device
// would leave the position where it was. So the thread makes such calls itself, from and into the page cache, and the pool
// what would block. Another call must not come between these two halves: one is made at a time, of all files whose numbers
// end alike. What has no position, a pipe or a socket, is the ring's.
#include <sys/stat.h>

#include <fin/sync.h>

#include "io/fixed.h"

enum { LOCKS = 64 };

static struct fin_mutex moving[LOCKS];

void fin_position_forked(void) {
    for (unsigned i = 0; i < LOCKS; i++)
        fin_mutex_init(&moving[i]); // who had them is not here
}

bool fin_io_of_file(const struct io *io, const struct call *c) {
    return fin_io_at_position(c->op, c->off) && fin_io_kind_of(fin_descriptor(io, c)) == FIN_IO_FILE;
}

static FIN_BLOCKING int both_halves(struct io *io, const struct call *c) {
    struct call rest;
    int done, r;
    if (fin_io_try_file(c, &rest, &done))
        return done;
    r = fin_io_by_pool(io, &rest);
    return done == 0 ? r : r > 0 ? done + r : done;
}

int fin_io_file(struct io *io, const struct call *call) {
    struct call c = *call;
    struct stat s;
    c.fd = fin_descriptor(io, call);
    c.sqe_flags = 0;
    if (!fin_io_at_position(c.op, c.off) || fstat(c.fd, &s) != 0)
        return both_halves(io, &c);
    struct fin_mutex *m = &moving[s.st_ino % LOCKS];
    if (fin_mutex_trylock(m) != 0) {
        if (!c.nc && fin_mutex_lock(m) != 0)
            return -ECANCELED;
        if (c.nc)
            fin_mutex_lock_nc(m);
    }
    int r = both_halves(io, &c);
    fin_mutex_unlock(m);
    return r;
}
