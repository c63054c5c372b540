// SPDX-License-Identifier: BSD-2-Clause
// Calls over channels, many at a time and answered before anybody waits, one by one without stacks, and in both directions
// while there is no room; waitsets of channels of both kinds and a source.
#include <fin/rpc_on.h>

#include "fault.h"

enum { CALLS = 20, ROUNDS = 3, MANY = 150 }; // a ring has 64 lines
const int threads = 1;
void (*const prepare)(void) = NULL;

static struct fin_chan *near, *far;

static bool open_two(unsigned flags) { return fine(fin_chan_pair(&near, &far, &(struct fin_chan_options){4096, flags})); }
static bool open_pair(void) { return open_two(0); }

static bool open_socket(void) {
    int fd[2];
    if (!fine_errno(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd)))
        return false;
    if (!fine(fin_chan_offer(&near, fd[0], &(struct fin_chan_options){4096, 0}))) {
        close(fd[1]);
        return false;
    }
    if (fine(fin_chan_take(&far, fd[1], 0)))
        return true;
    CHECK_EQ(fin_chan_close(near), 0);
    return false;
}

static void answer(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *arg) {
    (void)arg;
    fine(fin_rpc_reply(r, id, request, size));
}

static void serve(void *chan) {
    struct fin_rpc *r;
    if (!fine(fin_rpc_open(&r, chan, 0))) {
        CHECK_EQ(fin_chan_close(chan), 0);
        return;
    }
    int end = fin_rpc_serve(r, answer, NULL);
    fine(end == -ESHUTDOWN ? 0 : end);
    CHECK_EQ(fin_rpc_close(r), 0);
}

static void call_all(struct fin_rpc *r) {
    uint32_t id[CALLS];
    uint64_t x, y;
    unsigned sent = 0;
    for (x = 0; x < CALLS && fine(fin_rpc_send(r, &x, sizeof x, &id[x])); x++)
        sent++;
    for (unsigned i = sent; i-- > 0;) {
        ssize_t n = fin_rpc_recv(r, id[i], &y, sizeof y);
        if (fine(n))
            CHECK(n == sizeof y && y == i);
    }
}

static void calls(void) {
    struct fin_rpc *r;
    if (!open_socket())
        return;
    fin_finish {
        fin_async_call(serve, far);
        if (fine(fin_rpc_open(&r, near, FIN_RPC_CLIENT))) {
            call_all(r);
            CHECK_EQ(fin_rpc_close(r), 0);
        } else {
            CHECK_EQ(fin_chan_close(near), 0);
        }
    }
}

static struct fin_rpc *server, *client;
static uint64_t asked, told;
static struct fin_rpc_on serving, calling;

static void served(void *state, int end) {
    (void)state;
    fine(end == -ESHUTDOWN ? 0 : end);
    CHECK_EQ(fin_rpc_close(server), 0);
    fin_cont_end();
}

static void serves(void *state, int result) {
    (void)result;
    served(state, fin_rpc_serve_on(server, answer, NULL, &serving, served, NULL, 0));
}

static void called(void *state, int n) {
    if (fine(n))
        CHECK(n == sizeof told && told == asked);
    if (fine(n) && ++asked < CALLS)
        fine(fin_rpc_call_on(client, &asked, sizeof asked, &told, sizeof told, &calling, called, NULL, 0));
    (void)state;
    CHECK_EQ(fin_rpc_close(client), 0);
    fin_cont_end();
}

static void calls_one(void *state, int result) {
    (void)result;
    asked = 0;
    called(state, fin_rpc_call_on(client, &asked, sizeof asked, &told, sizeof told, &calling, called, NULL, 0));
}

static void without_stacks(void) {
    if (!open_pair())
        return;
    if (!fine(fin_rpc_open(&server, far, 0))) {
        CHECK_EQ(fin_chan_close(far), 0);
        CHECK_EQ(fin_chan_close(near), 0);
        return;
    }
    if (!fine(fin_rpc_open(&client, near, FIN_RPC_CLIENT))) {
        CHECK_EQ(fin_chan_close(near), 0);
        CHECK_EQ(fin_rpc_close(server), 0);
        return;
    }
    fin_finish {
        bool started = fine(fin_async_cont(serves, NULL, 0) ? 0 : -ENOMEM);
        if (!started || !fine(fin_async_cont(calls_one, NULL, 0) ? 0 : -ENOMEM))
            CHECK_EQ(fin_rpc_close(client), 0);
        if (!started)
            CHECK_EQ(fin_rpc_close(server), 0);
    }
}

// Two ends that call each other, with more requests than fit, and answer one at a time.
static struct fin_rpc *both[2];
static struct fin_sem over;

static void answers_one_by_one(void *rpc) {
    uint64_t request = 0;
    uint32_t id;
    ssize_t n = fin_rpc_accept(rpc, &request, sizeof request, &id);
    while (n >= 0)
        n = fin_rpc_reply_accept(rpc, &request, sizeof request, &request, sizeof request, &id);
    if (n != -ECANCELED && !fine(n))
        for (int i = 0; i < 2; i++)
            fin_sem_post(&over);
}

static void calls_many(void *rpc) {
    uint32_t id[MANY];
    uint64_t y;
    unsigned sent = 0;
    while (sent < MANY && fine(fin_rpc_send(rpc, &(uint64_t){sent}, sizeof y, &id[sent])))
        sent++;
    for (unsigned i = 0; i < sent; i++)
        if (fine(fin_rpc_recv(rpc, id[i], &y, sizeof y)))
            CHECK_EQ(y, i);
    fin_sem_post(&over);
}

static void both_call(void) {
    fin_sem_init(&over, 0);
    fin_finish_as(all) {
        for (int i = 0; i < 4; i++)
            fin_async_call(i < 2 ? answers_one_by_one : calls_many, both[i % 2]);
        for (int i = 0; i < 2; i++)
            fin_sem_wait(&over);
        fin_cancel_as(all);
    }
}

static void both_are_full(unsigned flags) {
    if (!open_two(flags))
        return;
    if (!fine(fin_rpc_open(&both[0], near, 0))) {
        CHECK_EQ(fin_chan_close(near), 0);
        CHECK_EQ(fin_chan_close(far), 0);
        return;
    }
    if (fine(fin_rpc_open(&both[1], far, 0))) {
        both_call();
        CHECK_EQ(fin_rpc_close(both[1]), 0);
    } else {
        CHECK_EQ(fin_chan_close(far), 0);
    }
    CHECK_EQ(fin_rpc_close(both[0]), 0);
}

static struct fin_waitset *w;
static struct fin_waitset_source source;
static unsigned received;

static void receives(void *chan) {
    char p;
    CHECK_EQ(fin_chan_try_recv(chan, &p, 1), 1);
    received++;
}

static void triggered(void *unused) { (void)unused; }

struct two {
    struct fin_chan *ends[2];
};

// Where sending fails nobody is to wait for ever.
static void send_to_both(void *arg) {
    struct two *t = arg;
    for (int i = 0; i < ROUNDS; i++) {
        fine(fin_sleep(1000));
        for (int k = 0; k < 2; k++)
            if (!fine(fin_chan_send(t->ends[k], "x", 1)))
                received++;
        fin_waitset_trigger(&source);
    }
}

static void dispatch(struct fin_chan *a, struct fin_chan *b, struct two *senders) {
    source = (struct fin_waitset_source){0};
    received = 0;
    if (!fine(fin_waitset_new(&w)))
        return;
    if (fine(fin_waitset_add(w, a, receives, a)) && fine(fin_waitset_add(w, b, receives, b)) &&
        fine(fin_waitset_add_source(w, &source, triggered, NULL))) {
        fin_finish {
            fin_async_call(send_to_both, senders);
            while (received < 2 * ROUNDS && fine(fin_waitset_dispatch(w))) {
            }
        }
    }
    fin_waitset_close(w);
}

static void close_two(struct fin_chan *a, struct fin_chan *b) {
    CHECK_EQ(fin_chan_close(a), 0);
    CHECK_EQ(fin_chan_close(b), 0);
}

static void waitsets(void) {
    struct two senders;
    if (!open_socket())
        return;
    struct fin_chan *a = far;
    senders.ends[0] = near;
    if (open_pair()) {
        senders.ends[1] = near;
        dispatch(a, far, &senders);
        close_two(near, far);
    }
    close_two(senders.ends[0], a);
}

void scenario(void) {
    calls();
    without_stacks();
    both_are_full(0);
    both_are_full(FIN_CHAN_LOCAL);
    waitsets();
}
