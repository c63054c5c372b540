// SPDX-License-Identifier: BSD-2-Clause
// Messages waited for with continuations: of any length and to the end, in turn with AWEs that wait with their stacks; what
// is refused did nothing.
#include "chan.h"

enum { MOST = 1900, MESSAGES = 400 };

struct side {
    struct fin_chan_on on;
    struct fin_chan *chan;
    unsigned count;
    unsigned char in[MOST], out[MOST];
};

static struct side echoes, turns[4];
static unsigned seed = 7;

static size_t size_of(unsigned number) { return number % 3 ? number % 50 : number * 23 % MOST; }

// ---- an echo without a stack: receive and send, or both in one

static void received(void *state, int n);

static void sent(void *state, int result) {
    struct side *s = *(struct side **)state;
    CHECK_EQ(result, 0);
    fin_chan_recv_on(s->chan, s->in, sizeof s->in, &s->on, received, &s, sizeof s);
    CHECK(false);
}

static void received(void *state, int n) {
    struct side *s = *(struct side **)state;
    if (n == -ESHUTDOWN)
        fin_cont_end();
    CHECK_EQ(n, size_of(s->count));
    CHECK(filled(s->in, (size_t)n, s->count));
    memcpy(s->out, s->in, (size_t)n);
    if (++s->count % 2)
        fin_chan_send_on(s->chan, s->out, (size_t)n, &s->on, sent, &s, sizeof s);
    fin_chan_send_recv_on(s->chan, s->out, (size_t)n, s->in, sizeof s->in, &s->on, received, &s, sizeof s);
    CHECK(false);
}

static void begin(void *state, int result) { sent(state, result); }

// From a body that has a stack until then.
static void begin_with_stack(void *side) { sent(&side, 0); }

static void talk(unsigned count) {
    unsigned char p[MOST];
    for (unsigned i = 0, burst; i < count; i += burst) {
        burst = next_random(&seed) % 3 + 1;
        for (unsigned k = i; k < i + burst; k++) {
            fill(p, size_of(k), k);
            CHECK_EQ(fin_chan_send(a, p, size_of(k)), 0);
        }
        for (unsigned k = i; k < i + burst; k++) {
            CHECK_EQ(fin_chan_recv(a, p, sizeof p), size_of(k));
            CHECK(filled(p, size_of(k), k));
        }
    }
}

static void echo(bool from_stack) {
    struct side *s = &echoes;
    s->chan = b;
    s->count = 0;
    fin_finish {
        if (from_stack)
            fin_async_call(begin_with_stack, s);
        else
            CHECK(fin_async_cont(begin, &s, sizeof s) != NULL);
        talk(few(MESSAGES));
        CHECK_EQ(fin_chan_close(a), 0);
    }
    CHECK_EQ(fin_chan_close(b), 0);
}

// ---- receivers of both kinds at one end get one message each, in their order

static char letters[5];

static void got(void *state, int n) {
    struct side *s = *(struct side **)state;
    CHECK_EQ(n, 1);
    letters[s - turns] = (char)s->in[0];
    fin_cont_end();
}

static void waits_on(void *state, int result) {
    struct side *s = *(struct side **)state;
    CHECK_EQ(result, 0);
    fin_chan_recv_on(b, s->in, sizeof s->in, &s->on, got, &s, sizeof s);
    CHECK(false);
}

static void waits_with_stack(void *letter) { CHECK_EQ(fin_chan_recv(b, letter, 1), 1); }

static void take_turns(void) {
    memset(letters, 0, sizeof letters);
    fin_finish {
        for (int i = 0; i < 4; i++) {
            struct side *s = &turns[i];
            if (i % 2)
                fin_async_call(waits_with_stack, &letters[i]);
            else
                fin_async_cont(waits_on, &s, sizeof s);
            for (int k = 0; k < 100; k++)
                fin_yield(); // they stand in line in this order
        }
        CHECK_EQ(fin_chan_close(b), -EBUSY);
        for (int i = 0; i < 4; i++)
            CHECK_EQ(fin_chan_send(a, &"abcd"[i], 1), 0);
    }
    CHECK(strcmp(letters, "abcd") == 0);
}

// ---- what is in the way, and the end

static int calls;

static void ends_with(void *state, int result) {
    LOG("%d ", result - *(int *)state);
    calls++;
    fin_cont_end();
}

#define ENDS_WITH(call, expected)                                                                                           \
    do {                                                                                                                    \
        int want = (expected);                                                                                              \
        fin_async { call; };                                                                                                \
    } while (0)

static void ends(void) {
    static struct fin_chan_on on;
    static char room[64], data[4096];
    check_log[0] = 0;
    size_t most = fin_chan_most(a);
    CHECK_EQ(fin_chan_send(a, "0123456789", 10), 0);
    fin_finish
        ENDS_WITH(fin_chan_recv_on(b, room, 4, &on, ends_with, &want, sizeof want), -EMSGSIZE); // it stays
    fin_finish
        ENDS_WITH(fin_chan_recv_on(b, room, 10, &on, ends_with, &want, sizeof want), 10);
    fin_finish {
        ENDS_WITH(fin_chan_recv_on(b, room, 4, &on, ends_with, &want, sizeof want), -EMSGSIZE);
        CHECK_EQ(fin_chan_send(a, "0123456789", 10), 0); // too long for who waits
    }
    fin_finish
        ENDS_WITH(fin_chan_recv_on(b, room, 10, &on, ends_with, &want, sizeof want), 10);
    fin_finish
        ENDS_WITH(fin_chan_send_on(a, data, most + 1, &on, ends_with, &want, sizeof want), -EMSGSIZE);
    fin_finish {
        int fd = dup(0), want = 1;
        fin_async { fin_chan_recv_on(b, room, 10, &on, ends_with, &want, sizeof want); };
        CHECK_EQ(fin_chan_send_fds(a, "f", 1, &fd, 1), 0); // they are closed
        close(fd);
    }
    fin_finish {
        fin_cancel();
        ENDS_WITH(fin_chan_recv_on(b, room, 10, &on, ends_with, &want, sizeof want), -ECANCELED);
        ENDS_WITH(fin_chan_send_on(b, room, 10, &on, ends_with, &want, sizeof want), -ECANCELED);
        ENDS_WITH(fin_chan_send_recv_on(b, room, 1, room, 1, &on, ends_with, &want, sizeof want), -ECANCELED);
    }
    CHECK_EQ(fin_chan_try_recv(a, room, sizeof room), -EAGAIN);
    fin_finish {
        fin_async {
            fin_finish
                CHECK_EQ(fin_chan_recv_on(b, room, 10, &on, ends_with, NULL, 0), -EBUSY);
            CHECK_EQ(fin_chan_send_on(b, room, 1, &on, NULL, NULL, 0), -EINVAL);
            CHECK_EQ(fin_chan_send_recv_on(b, room, 1, room, 1, &on, ends_with, data, FIN_CONT_STATE + 1), -E2BIG);
        };
        CHECK_EQ(fin_chan_recv_on(b, room, 10, &on, ends_with, NULL, 0), -EINVAL);
    }
    struct fin_waitset *w;
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, NULL, NULL), 0);
    fin_finish
        ENDS_WITH(fin_chan_recv_on(b, room, 10, &on, ends_with, &want, sizeof want), -EBUSY);
    CHECK_EQ(fin_waitset_remove(w, b), 0);
    fin_waitset_close(w);
    fin_finish {
        ENDS_WITH(fin_chan_recv_on(b, room, 10, &on, ends_with, &want, sizeof want), -ESHUTDOWN);
        CHECK_EQ(fin_chan_close(a), 0);
    }
    fin_finish
        ENDS_WITH(fin_chan_recv_on(b, room, 10, &on, ends_with, &want, sizeof want), -ESHUTDOWN);
    fin_finish
        ENDS_WITH(fin_chan_send_on(b, data, 1, &on, ends_with, &want, sizeof want), -EPIPE);
    fin_finish
        ENDS_WITH(fin_chan_send_recv_on(b, data, 1, room, 10, &on, ends_with, &want, sizeof want), -EPIPE);
    CHECK_EQ(fin_chan_close(b), 0);
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        open_kind(kind, 4096, 0);
        echo(kind % 2);
        open_kind(kind, 4096, kind == LOCAL ? 0 : FIN_CHAN_SHARED);
        echo(!(kind % 2));
        open_kind(kind, 4096, 0);
        take_turns();
        close_both();
        open_kind(kind, 4096, 0);
        calls = 0;
        ends();
        CHECK_EQ(calls, 14);
        for (const char *p = check_log; *p; p += 2)
            CHECK(p[0] == '0' && p[1] == ' ');
    }
    return 0;
}
