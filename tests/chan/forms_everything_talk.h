// SPDX-License-Identifier: BSD-2-Clause
// Channels of forms_everything.c over which one side calls and the other answers, mostly by fin_chan_send_recv in all its
// forms. A call that is cancelled may have been sent: its answer, if there is one, comes before the next one's.
#ifndef FIN_TESTS_CHAN_FORMS_EVERYTHING_TALK_H
#define FIN_TESTS_CHAN_FORMS_EVERYTHING_TALK_H

#include "forms_everything.h"

enum { TALKS = 30, LONG = 200, LONGEST = 1500, IN_A_ROW = 4 };
// By the first three in one wait.
enum talk_form { SEND_RECV, SEND_RECV_NC, SEND_RECV_ON, APART, RESERVED, TALK_FORMS };
enum hear_form { HEAR, HEAR_NC, HEAR_ON, HEAR_PEEK, HEAR_FORMS };

struct talker {
    struct role *r;
    unsigned number;   // of the last call made, or answered
    unsigned answered; // of the last answer
    bool sure;         // the last call was sent
    bool again;        // the answer may have been sent
    bool doubt;        // so was one before
    struct header out;
    unsigned char said[LONGEST], heard[LONGEST];
    size_t size;
};

static size_t talk_size(const struct role *r, unsigned number) {
    unsigned state = seed * 17 + (unsigned)r->c->number * 131 + number * 77;
    unsigned most = number % 8 == 5 ? LONGEST - 8 : LONG - 8; // all that may have been sent in a row fits into a ring
    return sizeof(struct header) + (pick(&state, 3) && number % 8 != 5 ? pick(&state, 56) : pick(&state, most));
}

static void say(struct talker *t, unsigned number) {
    struct header h = {number, (uint8_t)t->r->index, PLAIN, t->again};
    t->size = talk_size(t->r, number);
    memcpy(t->said, &h, sizeof h);
    fill(t->said + sizeof h, t->size - sizeof h, number);
}

static struct header understood(const struct talker *t, ssize_t n) {
    struct header h;
    HOLDS(t->r->c, n >= (ssize_t)sizeof h);
    memcpy(&h, t->heard, sizeof h);
    HOLDS(t->r->c, (size_t)n == talk_size(t->r, h.number));
    HOLDS(t->r->c, filled(t->heard + sizeof h, (size_t)n - sizeof h, h.number));
    return h;
}

static struct talker *talker_of(const struct op *o) { return (struct talker *)(void *)o->r->buffer; }

static int say_reserved(struct talker *t) {
    void *room;
    int r = fin_chan_reserve(t->r->e->chan, LONGEST, &room);
    if (r != 0)
        return r;
    if (t->r->left && chance(2))
        pause_here();
    memcpy(room, t->said, t->size);
    return fin_chan_commit(t->r->e->chan, t->size);
}

static ssize_t hear_peeked(struct talker *t) {
    const void *bytes;
    ssize_t n = fin_chan_peek(t->r->e->chan, &bytes);
    if (n < 0)
        return n;
    memcpy(t->heard, bytes, n < LONGEST ? (size_t)n : LONGEST);
    HOLDS(t->r->c, fin_chan_release(t->r->e->chan) == 0);
    return n;
}

static void talk_in_form(struct op *o) {
    struct talker *t = talker_of(o);
    struct fin_chan *c = t->r->e->chan;
    switch (o->form) {
    case SEND_RECV:
        o->result = fin_chan_send_recv(c, t->said, t->size, t->heard, o->room);
        break;
    case SEND_RECV_NC:
        o->result = fin_chan_send_recv_nc(c, t->said, t->size, t->heard, o->room);
        break;
    case SEND_RECV_ON:
        o->result = fin_chan_send_recv_on(c, t->said, t->size, t->heard, o->room, &o->on, ended_on, &o, sizeof o);
        break;
    case APART:
        o->result = fin_chan_send(c, t->said, t->size);
        break;
    default:
        o->result = say_reserved(t);
    }
}

static void hear_in_form(struct op *o) {
    struct talker *t = talker_of(o);
    struct fin_chan *c = t->r->e->chan;
    switch (o->form) {
    case HEAR:
        o->result = fin_chan_recv(c, t->heard, LONGEST);
        break;
    case HEAR_NC:
        o->result = fin_chan_recv_nc(c, t->heard, LONGEST);
        break;
    case HEAR_ON:
        o->result = fin_chan_recv_on(c, t->heard, LONGEST, &o->on, ended_on, &o, sizeof o);
        break;
    default:
        o->result = hear_peeked(t);
    }
}

static enum style some_style(struct role *r) { return r->left && chance(2) ? chance(STYLES) : AS_IT_IS; }

static ssize_t hear(struct talker *t) {
    struct op o = {.r = t->r, .run = hear_in_form, .form = chance(HEAR_FORMS)};
    o.explicit = o.form == HEAR_ON;
    perform(&o, some_style(t->r));
    t->r->left -= t->r->left != 0;
    return o.result;
}

static bool ended(ssize_t n) { return n == -EPIPE || n == -ECONNRESET || n == -ESHUTDOWN; }
static bool nothing_came(ssize_t n) { return n == -ECANCELED || is_short(n); }

static ssize_t say_and_hear(struct talker *t, enum talk_form form) {
    struct op o = {.r = t->r, .run = talk_in_form, .form = form, .explicit = form == SEND_RECV_ON, .room = LONGEST};
    if (t->r->left && chance(6) == 0)
        o.room = chance(80); // too little, perhaps
    perform(&o, some_style(t->r));
    t->r->left -= t->r->left != 0;
    t->sure = form >= APART ? o.result == 0 : o.result >= 0 || o.result == -EMSGSIZE;
    HOLDS(t->r->c, form >= APART || o.result <= (ssize_t)o.room);
    if (is_short(o.result))
        after_shortage();
    return o.result;
}

// ---- who calls

// True: it is the answer to the last call.
static bool is_answered(struct talker *t, ssize_t n) {
    struct header h = understood(t, n);
    if (h.fds && h.number == t->answered)
        return false; // said once more, as it was not known whether it had been
    HOLDS(t->r->c, h.number > t->answered && h.number <= t->number);
    t->answered = h.number;
    return h.number == t->number;
}

// Of a call that is known to have been sent.
static bool await_answer(struct talker *t) {
    for (;;) {
        ssize_t n = hear(t);
        if (ended(n))
            return false;
        if (is_short(n))
            after_shortage();
        TOLD(t->r->c, n, n >= 0 || nothing_came(n));
        if (n >= 0 && is_answered(t, n))
            return true;
    }
}

// False: the other side is gone.
static bool call(struct talker *t) {
    t->number++;
    say(t, t->number);
    befall(t->r);
    enum talk_form form = chance(TALK_FORMS);
    ssize_t n = say_and_hear(t, form);
    if (ended(n))
        return false;
    TOLD(t->r->c, n, n >= 0 || nothing_came(n) || n == -EMSGSIZE);
    if (n == -EMSGSIZE)
        return await_answer(t);
    if (n < 0 || (form < APART && is_answered(t, n)))
        return true;
    return await_answer(t);
}

static void calls(struct role *r) {
    struct talker *t = (struct talker *)(void *)r->buffer;
    *t = (struct talker){.r = r};
    for (r->burst = 0; r->burst < TALKS; r->burst++) {
        bool alive = true;
        r->left = chance(3) ? chance(10) : 0;
        for (unsigned n = chance(10), row = 0; n && alive; n--, row = t->sure ? 0 : row + 1) {
            r->left = row < IN_A_ROW ? r->left : 0; // so that there is room for all answers
            alive = call(t);
        }
        r->left = 0;
        do
            alive = alive && call(t);
        while (alive && t->answered != t->number);
        HOLDS(r->c, alive || kills);
        if (chance(4) == 0)
            fin_sleep_nc(chance(200) * FIN_US); // all go idle
    }
}

// ---- who answers

static ssize_t first_call(struct talker *t) {
    ssize_t n;
    while (nothing_came(n = hear(t)))
        if (is_short(n))
            after_shortage();
    return n;
}

// It says the last answer, and hears the next call.
static ssize_t answer(struct talker *t) {
    ssize_t n = say_and_hear(t, chance(TALK_FORMS));
    if (!nothing_came(n))
        return n == 0 || n == -EMSGSIZE ? first_call(t) : n;
    t->again = t->doubt = true;
    say(t, t->number);
    t->again = false;
    return n;
}

static void answers(struct role *r) {
    struct talker *t = (struct talker *)(void *)r->buffer;
    *t = (struct talker){.r = r};
    r->left = 30;
    ssize_t n = first_call(t);
    while (n >= 0) {
        struct header h = understood(t, n);
        HOLDS(r->c, h.number > t->number);
        t->number = h.number;
        say(t, h.number);
        befall(r);
        if (chance(20) == 0)
            r->left = chance(10);
        while (nothing_came(n = answer(t)))
            ;
    }
    TOLD(r->c, n, n == -ESHUTDOWN || (n == -EPIPE && t->doubt) || (ended(n) && kills));
}

#endif
