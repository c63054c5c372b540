// SPDX-License-Identifier: BSD-2-Clause
// The receivers of forms_everything.c.
#ifndef FIN_TESTS_CHAN_FORMS_EVERYTHING_RECEIVE_H
#define FIN_TESTS_CHAN_FORMS_EVERYTHING_RECEIVE_H

#include "forms_everything.h"

// Those that wait come first.
enum receive_form { RECV, RECV_NC, RECV_ON, PEEK, PEEK_NC, RECV_FDS, RECV_FDS_NC, WAITING, TRY_RECV = WAITING, TRY_PEEK,
                    TRY_RECV_FDS, FORMS };

// It stays as it is until it is released, whatever befalls whom.
static ssize_t receive_peeked(struct op *o) {
    struct role *r = o->r;
    struct fin_chan *c = r->e->chan;
    const void *bytes;
    ssize_t n = o->form == PEEK      ? fin_chan_peek(c, &bytes)
                : o->form == PEEK_NC ? fin_chan_peek_nc(c, &bytes)
                                     : fin_chan_try_peek(c, &bytes);
    if (n < 0)
        return n;
    HOLDS(r->c, (uintptr_t)bytes % (n < 1024 ? 8 : 64) == 0);
    memcpy(r->buffer, bytes, (size_t)n);
    for (unsigned i = r->left ? chance(4) : 0; i; i--)
        pause_here();
    may_not_close(r);
    HOLDS(r->c, memcmp(r->buffer, bytes, (size_t)n) == 0);
    HOLDS(r->c, fin_chan_release(c) == 0);
    return n;
}

static void receive_in_form(struct op *o) {
    struct fin_chan *c = o->r->e->chan;
    void *p = o->r->buffer;
    switch (o->form) {
    case RECV:
        o->result = fin_chan_recv(c, p, o->size);
        break;
    case RECV_NC:
        o->result = fin_chan_recv_nc(c, p, o->size);
        break;
    case RECV_ON:
        o->result = fin_chan_recv_on(c, p, o->size, &o->on, ended_on, &o, sizeof o);
        break;
    case RECV_FDS:
        o->result = fin_chan_recv_fds(c, p, o->size, o->fd, &o->fds);
        break;
    case RECV_FDS_NC:
        o->result = fin_chan_recv_fds_nc(c, p, o->size, o->fd, &o->fds);
        break;
    case TRY_RECV:
        o->result = fin_chan_try_recv(c, p, o->size);
        break;
    case TRY_RECV_FDS:
        o->result = fin_chan_try_recv_fds(c, p, o->size, o->fd, &o->fds);
        break;
    default:
        o->result = receive_peeked(o);
    }
}

static bool is_peek(const struct op *o) { return o->form == PEEK || o->form == PEEK_NC || o->form == TRY_PEEK; }

static bool wants_fds(const struct op *o) {
    return o->form == RECV_FDS || o->form == RECV_FDS_NC || o->form == TRY_RECV_FDS;
}

// ---- what came with a message

static void check_region(struct role *r, int fd, unsigned number) {
    struct fin_chan_region region;
    int error = fin_chan_region_map(&region, fd, region_size(number));
    TOLD(r->c, error, error == 0);
    HOLDS(r->c, filled(region.data, 64, number));
    HOLDS(r->c, filled((unsigned char *)region.data + region.size - 64, 64, number));
    fin_chan_region_end(&region);
}

static void check_file(struct role *r, int fd, unsigned number, unsigned i) {
    struct stat s;
    HOLDS(r->c, fstat(fd, &s) == 0 && s.st_ino == inodes[file_of(number, i)]);
    HOLDS(r->c, fcntl(fd, F_GETFD) == FD_CLOEXEC);
    HOLDS(r->c, close(fd) == 0);
}

static void check_fds(struct role *r, const struct op *o) {
    struct header h = {0};
    if (o->result >= (ssize_t)sizeof h)
        memcpy(&h, r->buffer, sizeof h);
    if (h.what == MARKER)
        h.fds = 0;
    if (h.fds && o->fds == 0)
        HOLDS(r->c, starves && __atomic_fetch_sub(&r->d->lost, 1, __ATOMIC_ACQ_REL) > 0);
    else
        HOLDS(r->c, o->fds == h.fds);
    for (unsigned i = 0; i < o->fds; i++) {
        if (h.what == REGION)
            check_region(r, o->fd[i], h.number);
        else
            check_file(r, o->fd[i], h.number, i);
    }
}

// ---- one message

static void choose_receive_form(struct op *o) {
    bool calm = !o->r->left;
    o->run = receive_in_form;
    o->size = IN_ROOM;
    o->fds = FIN_CHAN_FDS;
    o->form = chance(calm ? WAITING : FORMS);
    o->explicit = o->form == RECV_ON;
    o->nc = o->form == RECV_NC || o->form == PEEK_NC || o->form == RECV_FDS_NC || o->form >= WAITING;
    if (!calm && chance(8) == 0)
        o->size = chance(80); // too small, perhaps
    if (!calm && chance(8) == 0)
        o->fds = chance(3);
}

static bool is_mark(const struct role *r, ssize_t n) {
    struct header h;
    if (n != sizeof h)
        return false;
    memcpy(&h, r->buffer, sizeof h);
    if (h.what != MARKER)
        return false;
    HOLDS(r->c, (h.number == r->burst || kills) && h.sender == 0xff && h.fds == 0);
    return true;
}

// The last one says so. Nobody goes on before, as he might take the others' marks.
static void marked(struct role *r) {
    struct direction *d = r->d;
    if (ADD(d->marked, 1) == d->receivers) {
        d->marked = 0;
        check_all(d, true);
        fin_event_advance(&d->all_marked, 1);
        HOLDS(r->c, write(d->acks[1], "", 1) == 1 || kills);
    }
    fin_event_await_nc(&d->all_marked, r->burst + 1);
}

// The result; a mark is MARKED.
enum { MARKED = 1 << 29 };

static ssize_t receive_one(struct role *r) {
    struct op o = {.r = r};
    enum style style = r->left && chance(2) ? chance(STYLES) : AS_IT_IS;
    choose_receive_form(&o);
    if (r->hasty && o.form < WAITING) {
        style = TIMED;
        o.form = o.nc ? TRY_RECV_FDS : o.form;
    }
    befall(r);
    if (wants_fds(&o) && starves)
        ADD(r->d->lost, 1); // before anybody else can have its message
    unsigned room = o.fds;
    perform(&o, style);
    HOLDS(r->c, o.result < 0 || o.fds <= room);
    if (wants_fds(&o) && starves && o.result != -EMFILE)
        ADD(r->d->lost, -1);
    TOLD(r->c, o.result, o.result != -ECANCELED || (style != AS_IT_IS && !o.nc));
    r->left -= r->left != 0;
    if (o.result < 0)
        return o.result;
    HOLDS(r->c, (style != BEFORE || o.nc) && ((size_t)o.result <= o.size || is_peek(&o)));
    if (wants_fds(&o))
        check_fds(r, &o);
    if (is_mark(r, o.result))
        return MARKED;
    came(r, r->buffer, (size_t)o.result);
    return o.result;
}

// Until a mark, or the end.
static ssize_t receive_burst(struct role *r) {
    for (;;) {
        ssize_t n = receive_one(r);
        if (n == MARKED || n == -ESHUTDOWN || n == -ECONNRESET)
            return n;
        if (n >= 0 || n == -EMSGSIZE) // with a buffer that was too small on purpose
            continue;
        if (is_short(n))
            after_shortage();
        else if (n == -EAGAIN)
            pause_here();
        else
            TOLD(r->c, n, n == -ECANCELED);
        if (r->left && chance(6) == 0)
            pause_here();
    }
}

// Some of what comes before the end.
static void receive_some(struct role *r) {
    r->hasty = true;
    for (r->left = chance(2) ? chance(8) : 0; r->left;) {
        ssize_t n = receive_one(r);
        if (n == -ESHUTDOWN || n == -ECONNRESET)
            return;
        TOLD(r->c, n, n >= 0 || n == -EMSGSIZE || n == -EAGAIN || n == -ECANCELED || is_short(n));
    }
}

// At the side that closes first it ends soon after the last burst; at the other it is told of the end.
static void receives(struct role *r) {
    bool first = r->c->closes_first != (unsigned)r->d->side;
    ssize_t n = MARKED;
    for (r->burst = 0; r->burst < BURSTS && n == MARKED; r->burst++) {
        r->left = chance(3) ? chance(30) : 0;
        n = receive_burst(r);
        TOLD(r->c, n, n == MARKED || (n == -ECONNRESET && kills));
        if (n == MARKED)
            marked(r);
        else
            fin_event_advance(&r->d->all_marked, GONE);
    }
    if (first && n == MARKED)
        receive_some(r);
    if (first || n != MARKED)
        return;
    r->left = chance(2) ? chance(20) : 0;
    r->burst = BURSTS;
    n = receive_burst(r);
    TOLD(r->c, n, n == -ESHUTDOWN || (n == -ECONNRESET && kills));
}

#endif
