// SPDX-License-Identifier: BSD-2-Clause
// Of those that wait in rings for a connection at one listener, of any thread, Linux tells one for each that comes. One that
// is being cancelled may be told of several, until it is off the listener's list, and takes none: the others would sleep
// beside connections. So who was cancelled takes one, as if the cancel had come too late; where there are more, one that
// waits in each thread ends and is made again, for then it looks (a nudge). That may have been told of others meanwhile: so
// it looks for more when it has taken one. Of other processes with the listener nobody can do so.
#include <poll.h>

#include "io/fixed.h"
#include "io/uring.h"

static uint32_t news; // how often there were more

void fin_accept_lists(struct request *r) {
    r->listed = true;
    fin_link_back(&r->io->accepts, &r->accepting);
}

void fin_accept_begins(struct request *r) {
    r->nudged = false;
    fin_accept_lists(r);
}

void fin_accept_off_list(struct request *r) {
    r->listed = false;
    fin_link_remove(&r->accepting);
    r->again.order = 0;
}

static bool has_one(const struct io *io, const struct call *c) {
    bool fixed = c->sqe_flags & IOSQE_FIXED_FILE;
    if (fixed ? !io->files->slot[c->fd].number : fin_io_closed(c))
        return false;
    return fin_io_ready_now(fin_descriptor(io, c), POLLIN) > 0;
}

// A multishot request, too, goes on after its end, as long as somebody waits.
static bool nudge(struct request *r) {
    if ((r->tag & TO_KIND) != TO_SHOT)
        return r->nudged = fin_uring_nudge(r);
    fin_shot_cancel((struct shot *)r);
    return true;
}

// One for each descriptor is enough, if these do not take turns in the list. Where there is no room in the queue the next
// look at events goes on.
static void look_again(struct io *io, uint32_t now) {
    const struct call none = {.fd = -1}, *done = &none;
    io->news = now;
    for (struct fin_link *l = io->accepts.next, *next = l->next; l != &io->accepts; l = next, next = l->next) {
        struct request *r = FIN_OF(struct request, accepting, l);
        if ((r->call->fd == done->fd && r->call->sqe_flags == done->sqe_flags) || fin_uring_unseen(r))
            continue;
        done = r->call;
        if (has_one(io, r->call) && !nudge(r)) {
            io->news = now - 1;
            fin_io_wake(io);
            return;
        }
    }
}

void fin_accepts_unheard(struct io *io) {
    uint32_t now = __atomic_add_fetch(&news, 1, __ATOMIC_SEQ_CST);
    fin_io_wake_others(io);
    if (io)
        look_again(io, now);
}

// The flag that says that the thread is being woken was lowered before.
void fin_accepts_heard(struct io *io) {
    uint32_t now = __atomic_load_n(&news, __ATOMIC_SEQ_CST);
    if (io->news != now)
        look_again(io, now);
}

void fin_accept_more(struct io *io, const struct call *c) {
    if (fin_io_is_here(io) && has_one(io, c))
        fin_accepts_unheard(io);
}

int fin_accept_cancelled(struct io *io, const struct call *call) {
    struct call c = *call;
    if (!fin_io_is_here(io) || !has_one(io, call))
        return -ECANCELED;
    c.fd = fin_descriptor(io, call);
    int fd = fin_io_try(&c, FIN_IO_SOCKET, false);
    fin_accept_more(io, call);
    return fd >= 0 ? fd : -ECANCELED;
}
