// SPDX-License-Identifier: BSD-2-Clause
// fin_chan_send_recv: calls and answers arrive as they were sent, over each kind of channel; between AWEs of one thread the
// receiver runs at once, and yet others have their turns. Cancelled, it receives nothing, and nothing is lost; an answer
// that is too long stays; who waits when the other end closes is told.
#include "chan.h"

enum { CALLS = 200, LONG = 300 };

static bool over;
static unsigned served, others;
static ssize_t result;

static size_t size_of(unsigned i) { return i % 3 == 0 ? 8 : i % 3 == 1 ? FIN_CHAN_LINE : LONG; }

static void serves(void *unused) {
    unsigned char p[LONG];
    (void)unused;
    ssize_t n = fin_chan_recv(b, p, sizeof p);
    for (unsigned i = 0; i < CALLS; i++) {
        CHECK_EQ(n, (ssize_t)size_of(i));
        CHECK(filled(p, (size_t)n, i));
        served = i + 1;
        fill(p, size_of(i + 1), i + 1000);
        n = i + 1 < CALLS ? fin_chan_send_recv(b, p, size_of(i + 1), p, sizeof p) : fin_chan_send(b, p, size_of(i + 1));
    }
    CHECK_EQ(n, 0);
}

static void calls(void) {
    unsigned char p[LONG];
    for (unsigned i = 0; i < CALLS; i++) {
        fill(p, size_of(i), i);
        CHECK_EQ(fin_chan_send_recv(a, p, size_of(i), p, sizeof p), (ssize_t)size_of(i + 1));
        CHECK_EQ(served, i + 1);
        CHECK(filled(p, size_of(i + 1), i + 1000));
    }
}

static void takes_turns(void *unused) {
    (void)unused;
    while (!over) {
        others++;
        fin_yield();
    }
}

static void here(enum kind kind) {
    open_kind(kind, 4096, 0);
    over = false;
    others = 0;
    fin_finish {
        fin_async_call(takes_turns, NULL);
        fin_async_call(serves, NULL);
        calls();
        over = true;
    }
    CHECK(others > 1);
    close_both();
}

static void between_threads(void) {
    struct fin_thread_handle t;
    open_kind(PAIR, 0, 0);
    CHECK_EQ(fin_thread_start(&t, serves, NULL), 0);
    unsigned char p[LONG];
    for (unsigned i = 0; i < CALLS; i++) {
        fill(p, size_of(i), i);
        CHECK_EQ(fin_chan_send_recv(a, p, size_of(i), p, sizeof p), (ssize_t)size_of(i + 1));
        CHECK(filled(p, size_of(i + 1), i + 1000));
    }
    fin_thread_join_nc(&t);
    close_both();
}

static void waits(void *unused) {
    char p[8] = "ask";
    (void)unused;
    result = fin_chan_send_recv(a, p, 3, p, sizeof p);
}

static void gets(const char *text) {
    char p[16];
    CHECK_EQ(fin_chan_recv(b, p, sizeof p), (ssize_t)strlen(text));
    CHECK_EQ(memcmp(p, text, strlen(text)), 0);
}

static void receives(void *text) { gets(text); }

static void answers_at_length(void *unused) {
    (void)unused;
    gets("x");
    CHECK_EQ(fin_chan_send(b, "answer", 6), 0);
}

// With a receiver there, to whom the stack is handed over between AWEs of one thread; and without.
static void cancelled(bool there) {
    char p[8];
    fin_finish {
        if (there)
            fin_async_call(receives, "ask");
        fin_finish_as(all) {
            fin_async_call(waits, NULL);
            fin_yield();
            fin_cancel_as(all);
        }
        CHECK_EQ(result, -ECANCELED);
        if (!there)
            gets("ask");
    }
    fin_finish_as(all) {
        fin_cancel_as(all);
        waits(NULL);
    }
    CHECK_EQ(result, -ECANCELED);
    CHECK_EQ(fin_chan_try_recv(b, p, sizeof p), -EAGAIN);
}

static void too_long(void) {
    char p[8];
    fin_finish {
        fin_async_call(answers_at_length, NULL);
        CHECK_EQ(fin_chan_send_recv(a, "x", 1, p, 3), -EMSGSIZE);
    }
    CHECK_EQ(fin_chan_recv(a, p, sizeof p), 6);
    CHECK_EQ(fin_chan_send_recv(a, p, fin_chan_most(a) + 1, p, sizeof p), -EMSGSIZE);
}

static void failures(enum kind kind) {
    char p[8];
    open_kind(kind, 4096, 0);
    cancelled(true);
    cancelled(false);
    too_long();
    fin_finish {
        fin_async_call(waits, NULL);
        gets("ask");
        CHECK_EQ(fin_chan_close(b), 0);
    }
    CHECK_EQ(result, -ESHUTDOWN);
    ssize_t r = fin_chan_send_recv(a, "x", 1, p, sizeof p);
    CHECK(r == -EPIPE || r == -ESHUTDOWN); // what is sent before it is noticed is lost
    CHECK_EQ(fin_chan_close(a), 0);
}

int main(void) {
    alarm(60);
    for (enum kind kind = LOCAL; kind < KINDS; kind++) {
        here(kind);
        failures(kind);
    }
    between_threads();
    return 0;
}
