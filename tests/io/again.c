// SPDX-License-Identifier: BSD-2-Clause
// What is tried again, of a call that a descriptor in non-blocking mode did not make wait: once it is ready, if nobody was
// faster; not once it is cancelled; and not all the time where it is ready and would block all the same.
#define _GNU_SOURCE
#include <fin/linked.h>
#include <fin/on.h>
#include <fin/stats.h>
#include <sys/eventfd.h>

#include "net.h"

enum { SENDERS = 700, WAIT = 50 };

struct sender {
    struct fin_on on;
    int result;
};
static struct sender senders[SENDERS];
static int fds[2];
static bool with_stack;

static void send_it(void *arg) {
    struct sender *s = arg;
    s->result = (int)fin_send(fds[0], "s", 1, 0);
}

static void has_sent(void *sender, int n) {
    (*(struct sender **)sender)->result = n;
    fin_cont_end();
}

static void send_it_on(void *sender, int n) {
    struct sender *s = *(struct sender **)sender;
    (void)n;
    has_sent(&s, fin_send_on(&s->on, fds[0], "s", 1, 0, has_sent, &s, sizeof s));
}

// What lies in the socket: how many of it are the senders'.
static int drain(void) {
    static char got[1 << 16];
    int n = 0;
    for (ssize_t r; (r = recv(fds[1], got, sizeof got, MSG_DONTWAIT)) > 0;)
        for (ssize_t i = 0; i < r; i++)
            n += got[i] == 's';
    return n;
}

// A send never waits in a ring. More are cancelled than the queue takes at once, when there is room for what some of them
// send: each says what it did.
static void ready_and_cancelled(bool cancelled) {
    int sent = 0, came = 0, ended = 0;
    stream_pair(fds);
    while (send(fds[0], "x", 1, MSG_DONTWAIT) == 1) {
    }
    fin_finish {
        for (struct sender *s = senders; s < senders + SENDERS; s++) {
            s->result = 0;
            if (with_stack)
                fin_async_call(send_it, s);
            else
                CHECK(fin_async_cont(send_it_on, &s, sizeof s) != NULL);
        }
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(drain(), 0);
        if (cancelled)
            fin_cancel();
        for (; !cancelled && came < SENDERS; came += drain())
            CHECK_EQ(fin_sleep(FIN_MS), 0);
    }
    for (struct sender *s = senders; s < senders + SENDERS; s++) {
        CHECK(s->result == 1 || (cancelled && s->result == -ECANCELED));
        sent += s->result == 1;
        ended += s->result != 0;
    }
    came += drain();
    CHECK_EQ(ended, SENDERS);
    CHECK_EQ(came, sent);
    close(fds[0]);
    close(fds[1]);
}

static const uint64_t half = (uint64_t)1 << 63;
static int sum;
static ssize_t result;

static void add_half(void *unused) {
    (void)unused;
    result = fin_write(sum, &half, sizeof half);
}

static void link_half(void *unused) {
    struct fin_step s[] = {fin_step_write(sum, &half, sizeof half)};
    (void)unused;
    fin_linked(s, 1);
    result = s[0].result;
}

static void added(void *state, int n) {
    (void)state;
    result = n;
    fin_cont_end();
}

static void add_half_on(void *state, int n) {
    static struct fin_on on;
    (void)n;
    added(state, fin_write_on(&on, sum, &half, sizeof half, added, NULL, 0));
}

// As often as there were milliseconds, and some: a try, a wait that ends at once, and another before the first pause; the
// wait of the one that looks on.
static void no_room(void (*how)(void *)) {
    struct fin_stats before, after;
    uint64_t value, begun;
    sum = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    CHECK_EQ(eventfd_write(sum, half), 0);
    for (int cancelled = 0; cancelled < 2; cancelled++) {
        result = 0;
        fin_finish {
            if (how)
                fin_async_call(how, NULL);
            else
                CHECK(fin_async_cont(add_half_on, NULL, 0) != NULL);
            fin_stats(&before);
            begun = fin_now();
            CHECK_EQ(fin_sleep(WAIT * FIN_MS), 0);
            fin_stats(&after);
            CHECK(after.requests - before.requests <= 2 * (fin_now() - begun) / FIN_MS + 10);
            CHECK_EQ(result, 0);
            if (cancelled)
                fin_cancel();
            else
                CHECK_EQ(eventfd_read(sum, &value), 0);
        }
        CHECK_EQ(result, cancelled ? -ECANCELED : (ssize_t)sizeof half);
    }
    close(sum);
}

int main(void) {
    for (int i = 0; i < 10; i++) {
        with_stack = i % 2;
        ready_and_cancelled(true);
        ready_and_cancelled(false);
    }
    no_room(add_half);
    no_room(NULL);
    no_room(link_half);
    return 0;
}
