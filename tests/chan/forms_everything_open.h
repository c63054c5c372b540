// SPDX-License-Identifier: BSD-2-Clause
// How the channels of forms_everything.c are opened: as pairs, over sockets that were there before, or by name, where those
// who accept and those who connect are cancelled at random, and then nobody is any more.
#ifndef FIN_TESTS_CHAN_FORMS_EVERYTHING_OPEN_H
#define FIN_TESTS_CHAN_FORMS_EVERYTHING_OPEN_H

#include "forms_everything.h"

enum { ACCEPTORS = 3, BYE = MOST, TRIES = 12 };
enum accept_form { ACCEPT, ACCEPT_NC, ACCEPT_ON, ACCEPT_FORMS };

static struct fin_chan_listener *listener;
static unsigned acceptor_count, named_flags;
static size_t named_size;

static void listener_name(char *name, size_t size) { snprintf(name, size, "@fin-forms-%d-%u", (int)getppid(), seed); }

// Who accepts or connects.
struct opener {
    struct op op;
    struct role role; // for its budget, and its channel where something does not hold
    struct fin_chan *chan;
    unsigned flags;
};

static struct opener *opener_of(struct op *o) { return (struct opener *)(void *)o; }

static enum style opener_style(struct opener *p) {
    if (!p->role.left)
        return AS_IT_IS;
    p->role.left--;
    return chance(STYLES);
}

// What is no channel is a cancel, or a shortage, which a calm one outlasts.
static void opened_nothing(struct opener *p, int r, enum style style) {
    TOLD(p->role.c, r, (r == -ECANCELED && style != AS_IT_IS && !p->op.nc) || is_short(r));
    if (is_short(r))
        after_shortage();
}

// ---- who accepts

static void accept_in_form(struct op *o) {
    struct opener *p = opener_of(o);
    if (o->form == ACCEPT)
        o->result = fin_chan_accept(listener, &p->chan);
    else if (o->form == ACCEPT_NC)
        o->result = fin_chan_accept_nc(listener, &p->chan);
    else
        o->result = fin_chan_accept_on(listener, &p->chan, &o->on, ended_on, &o, sizeof o);
}

static void accept_one(struct opener *p) {
    enum style style = opener_style(p);
    p->op.form = chance(ACCEPT_FORMS);
    p->op.run = accept_in_form;
    p->op.explicit = p->op.form == ACCEPT_ON;
    p->op.nc = p->op.form == ACCEPT_NC && style == AS_IT_IS; // else it would be the one who waits
    if (p->op.form == ACCEPT_NC && !p->op.nc)
        p->op.form = ACCEPT;
    befall(&p->role);
    perform(&p->op, style);
    if (p->op.result != 0)
        opened_nothing(p, (int)p->op.result, style);
}

static ssize_t hello(struct fin_chan *c, uint32_t *number) {
    ssize_t n;
    while (is_short(n = fin_chan_recv_nc(c, number, sizeof *number)))
        after_shortage();
    return n;
}

// The client says which one it is. One that was cancelled has gone. True: there are no others.
static bool greet(struct opener *p) {
    uint32_t number;
    ssize_t n = hello(p->chan, &number);
    if (n < 0) {
        TOLD(p->role.c, n, n == -ECONNRESET);
        HOLDS(p->role.c, fin_chan_close(p->chan) == 0);
        return false;
    }
    HOLDS(p->role.c, n == sizeof number && number <= BYE);
    if (number == BYE) {
        HOLDS(p->role.c, fin_chan_close(p->chan) == 0);
        return true;
    }
    HOLDS(&channels[number], channels[number].named && !channels[number].end[0].chan);
    channels[number].end[0].chan = p->chan;
    return false;
}

static void accepts(void *unused) {
    (void)unused;
    struct opener *p = calloc(1, sizeof *p);
    p->op.r = &p->role;
    p->role.c = &channels[0];
    p->role.left = chance(TRIES);
    bool last = false;
    while (!last) {
        accept_one(p);
        last = p->op.result == 0 && greet(p);
    }
    free(p);
}

static void accepts_there(void *salt) {
    own_seed = seed * 53 + (unsigned)(intptr_t)salt;
    fin_finish {
        accepts(NULL);
    }
}

// ---- who connects

static void connect_in_form(struct op *o) {
    struct opener *p = opener_of(o);
    char name[64];
    listener_name(name, sizeof name);
    o->result = o->nc ? fin_chan_connect_nc(&p->chan, name, p->flags) : fin_chan_connect(&p->chan, name, p->flags);
}

static struct fin_chan *connect_to(struct channel *c, unsigned flags) {
    struct opener *p = calloc(1, sizeof *p);
    p->op.r = &p->role;
    p->op.run = connect_in_form;
    p->role.c = c;
    p->role.left = chance(TRIES);
    p->flags = flags;
    do {
        enum style style = opener_style(p);
        p->op.nc = chance(3) == 0;
        befall(&p->role);
        perform(&p->op, style);
        if (p->op.result != 0)
            opened_nothing(p, (int)p->op.result, style);
    } while (p->op.result != 0);
    struct fin_chan *chan = p->chan;
    free(p);
    return chan;
}

static void connects(void *channel) {
    struct channel *c = channel;
    uint32_t number = (uint32_t)c->number;
    c->end[1].chan = connect_to(c, c->end[1].flags);
    HOLDS(c, fin_chan_send_nc(c->end[1].chan, &number, sizeof number) == 0);
}

static void say_bye(void) {
    uint32_t number = BYE;
    struct fin_chan *c = connect_to(&channels[0], 0);
    CHECK_EQ(fin_chan_send_nc(c, &number, sizeof number), 0);
    CHECK_EQ(fin_chan_close(c), 0);
}

// ---- all

static void open_named_a(void) {
    char name[64];
    struct fin_thread_handle h;
    struct fin_chan_options options = {named_size, named_flags};
    bool other = acceptor_count > 1 && chance(2);
    listener_name(name, sizeof name);
    CHECK_EQ(fin_chan_listen(&listener, name, &options), 0);
    __atomic_store_n(&shared->listens, true, __ATOMIC_RELEASE);
    if (other)
        CHECK_EQ(fin_thread_start(&h, accepts_there, (void *)(intptr_t)chance(1000)), 0);
    fin_finish {
        for (unsigned i = other; i < acceptor_count; i++)
            fin_async_call(accepts, NULL);
    }
    if (other)
        fin_thread_join_nc(&h);
    fin_chan_listener_close(listener);
}

static void open_named_b(void) {
    while (!READ(shared->listens))
        usleep(100);
    fin_finish {
        for (unsigned i = 0; i < channel_count; i++)
            if (channels[i].named)
                fin_async_call(connects, &channels[i]);
    }
    for (unsigned i = 0; i < acceptor_count; i++)
        say_bye();
}

static void open_socket(struct channel *c) {
    struct end *mine = &c->end[in_b];
    struct fin_chan_options options = {c->size, mine->flags};
    close(c->fds[!in_b]);
    if (in_b == c->offered_by_b)
        HOLDS(c, fin_chan_offer(&mine->chan, c->fds[in_b], &options) == 0);
    else
        HOLDS(c, fin_chan_take_nc(&mine->chan, c->fds[in_b], mine->flags) == 0);
}

static void open_inside(struct channel *c) {
    struct fin_chan_options options = {c->size, c->end[0].flags};
    if (in_b)
        return;
    options.flags |= c->kind == LOCAL ? FIN_CHAN_LOCAL : 0;
    HOLDS(c, fin_chan_pair(&c->end[0].chan, &c->end[1].chan, &options) == 0);
}

static void open_all(void) {
    for (struct channel *c = channels; c < channels + channel_count; c++) {
        if (c->kind != SOCKET)
            open_inside(c);
        else if (!c->named)
            open_socket(c);
    }
    if (named_any)
        (in_b ? open_named_b : open_named_a)();
}

#endif
