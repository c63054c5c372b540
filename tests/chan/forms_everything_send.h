// SPDX-License-Identifier: BSD-2-Clause
// The senders of forms_everything.c: each sends bursts, in every form there is. After a burst of all of them there is a mark
// for each receiver; and nobody goes on before all of these are told of.
#ifndef FIN_TESTS_CHAN_FORMS_EVERYTHING_SEND_H
#define FIN_TESTS_CHAN_FORMS_EVERYTHING_SEND_H

#include "forms_everything.h"

enum send_form { TRY_SEND, SEND, SEND_NC, SEND_ON, RESERVE, RESERVE_NC, TRY_RESERVE, SEND_FORMS };
enum fds_form { SEND_FDS, SEND_FDS_NC, TRY_SEND_FDS, FDS_FORMS };

// Who has a reservation may do anything else, but use the end; its block may be cancelled.
static ssize_t fill_and_commit(struct op *o, void *room) {
    struct role *r = o->r;
    for (unsigned n = r->left ? chance(3) : 0; n; n--)
        pause_here();
    may_not_close(r);
    if (r->left && chance(6) == 0) {
        memset(room, 0xee, o->size);
        fin_chan_abandon(r->e->chan);
        return -EAGAIN;
    }
    memcpy(room, r->buffer, o->size);
    HOLDS(r->c, fin_chan_commit(r->e->chan, o->room + 1) == -EINVAL);
    return fin_chan_commit(r->e->chan, o->size);
}

static ssize_t send_reserved(struct op *o) {
    struct fin_chan *c = o->r->e->chan;
    void *room;
    ssize_t r = o->form == RESERVE      ? fin_chan_reserve(c, o->room, &room)
                : o->form == RESERVE_NC ? fin_chan_reserve_nc(c, o->room, &room)
                                        : fin_chan_try_reserve(c, o->room, &room);
    if (r == 0)
        HOLDS(o->r->c, (uintptr_t)room % (o->room < 1024 ? 8 : 64) == 0);
    return r == 0 ? fill_and_commit(o, room) : r;
}

static void send_in_form(struct op *o) {
    struct fin_chan *c = o->r->e->chan;
    const void *p = o->r->buffer;
    switch (o->form) {
    case TRY_SEND:
        o->result = fin_chan_try_send(c, p, o->size);
        break;
    case SEND:
        o->result = fin_chan_send(c, p, o->size);
        break;
    case SEND_NC:
        o->result = fin_chan_send_nc(c, p, o->size);
        break;
    case SEND_ON:
        o->result = fin_chan_send_on(c, p, o->size, &o->on, ended_on, &o, sizeof o);
        break;
    default:
        o->result = send_reserved(o);
    }
}

static void send_fds_in_form(struct op *o) {
    struct fin_chan *c = o->r->e->chan;
    const void *p = o->r->buffer;
    o->result = o->form == SEND_FDS      ? fin_chan_send_fds(c, p, o->size, o->fd, o->fds)
                : o->form == SEND_FDS_NC ? fin_chan_send_fds_nc(c, p, o->size, o->fd, o->fds)
                                         : fin_chan_try_send_fds(c, p, o->size, o->fd, o->fds);
}

// Where nothing is cancelled any more nobody tries in vain either, but for once.
static void choose_form(struct op *o, const struct plan *m) {
    bool calm = !o->r->left;
    if (m->fds || chance(10) == 0) { // or of none
        o->run = send_fds_in_form;
        o->form = chance(calm ? TRY_SEND_FDS : FDS_FORMS);
        o->nc = o->form != SEND_FDS;
        return;
    }
    o->run = send_in_form;
    o->form = calm ? SEND + chance(TRY_RESERVE - SEND) : chance(SEND_FORMS);
    o->nc = o->form != SEND && o->form != SEND_ON && o->form != RESERVE;
    o->explicit = o->form == SEND_ON;
    o->room = o->size + (chance(2) ? 0 : chance((unsigned)(fin_chan_most(o->r->e->chan) - o->size) + 1));
}

static int files_of_region(struct role *r, struct op *o, struct fin_chan_region *region) {
    int error = fin_chan_region_make(region, region_size(r->next));
    if (error)
        return error;
    o->fd[0] = region->fd;
    fill(region->data, 64, r->next);
    fill((unsigned char *)region->data + region->size - 64, 64, r->next);
    return 0;
}

// Whoever is told that nothing was sent sends the same again: were it sent, it would come twice.
static ssize_t send_one(struct role *r) {
    struct plan m = plan_of(r->d, r->index, r->next);
    struct op o = {.r = r, .size = m.size, .fds = m.fds};
    struct fin_chan_region region = {0};
    enum style style = r->left && chance(2) ? chance(STYLES) : AS_IT_IS;
    int error = m.what == REGION ? files_of_region(r, &o, &region) : 0;
    for (unsigned i = 0; m.what == WITH_FDS && i < m.fds; i++)
        o.fd[i] = files[file_of(r->next, i)];
    write_message(r->buffer, &m, r->index, r->next);
    choose_form(&o, &m);
    befall(r);
    if (error)
        o.result = error;
    else
        perform(&o, style);
    if (region.data)
        fin_chan_region_end(&region);
    TOLD(r->c, o.result, o.result != -ECANCELED || (style != AS_IT_IS && !o.nc));
    r->left -= r->left != 0;
    if (o.result == 0) {
        HOLDS(r->c, style != BEFORE || o.nc);
        r->next++;
        __atomic_store_n(&shared->sent[r->c->number][r->d->side][r->index], r->next, __ATOMIC_RELEASE);
    }
    return o.result;
}

// True: there was nobody left to send to.
static bool send_some(struct role *r, unsigned n) {
    while (n) {
        ssize_t result = send_one(r);
        if (result == 0)
            n--;
        else if (result == -EPIPE)
            return true;
        else if (is_short(result))
            after_shortage();
        else if (result == -EAGAIN)
            pause_here();
        else
            TOLD(r->c, result, result == -ECANCELED);
        if (chance(12) == 0 && r->left)
            pause_here();
    }
    return false;
}

static unsigned burst_length(void) {
    unsigned n = chance(8);
    return n == 0 ? 60 + chance(60) : n < 3 ? 10 + chance(20) : chance(8);
}

// ---- the end of a burst

// Nothing follows it: so each form has to wake who waits.
static bool send_mark(struct role *r) {
    struct header h = {r->burst, 0xff, MARKER, 0};
    struct plan m = {MARKER, sizeof h, 0};
    struct op o = {.r = r, .size = sizeof h};
    memcpy(r->buffer, &h, sizeof h);
    do {
        choose_form(&o, &m);
        perform(&o, AS_IT_IS);
        if (is_short(o.result))
            after_shortage();
    } while (is_short(o.result));
    TOLD(r->c, o.result, o.result == 0 || o.result == -EPIPE);
    return o.result == 0;
}

// A receiver that was killed acknowledges nothing: then the pipe ends.
static bool is_acknowledged(struct direction *d) {
    char byte;
    ssize_t n;
    while (is_short(n = fin_read_nc(d->acks[0], &byte, 1)))
        after_shortage();
    HOLDS(d->c, n == 1 || (n == 0 && kills));
    return n == 1;
}

static void end_burst(struct role *r) {
    struct direction *d = r->d;
    if (ADD(d->arrived, 1) == d->senders) {
        d->arrived = 0;
        bool good = true;
        for (unsigned i = 0; i < d->receivers && good; i++)
            good = send_mark(r);
        HOLDS(d->c, good || kills);
        fin_event_advance(&d->acknowledged, is_acknowledged(d) ? 1 : GONE);
    }
    fin_event_await_nc(&d->acknowledged, r->burst + 1);
}

static void sends(struct role *r) {
    bool gone = false, last = r->c->closes_first != (unsigned)r->d->side;
    for (r->burst = 0; r->burst < BURSTS && fin_event_read(&r->d->acknowledged) < GONE; r->burst++) {
        r->left = chance(3) ? chance(30) : 0;
        gone = gone || send_some(r, burst_length());
        r->left = 0;
        HOLDS(r->c, !gone || kills);
        end_burst(r);
    }
    // More comes before the end, or as long as there is somebody.
    r->left = chance(2) ? chance(8) : 0;
    if (!gone && fin_event_read(&r->d->acknowledged) < GONE)
        gone = send_some(r, chance(3) ? chance(6) : chance(40));
    HOLDS(r->c, !gone || kills || last);
}

#endif
