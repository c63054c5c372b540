// SPDX-License-Identifier: BSD-2-Clause
// Messages waited for with continuations on both sides, between threads and between processes, as fast as they go and with
// pauses, so that both are also found asleep. A peer that dies is told.
#include "chan.h"

enum { CALLS = 3000, SIZE = 1700 };

struct end {
    struct fin_chan_on on;
    struct fin_on sleep;
    struct fin_chan *chan;
    unsigned count, seed;
    int last; // result
    unsigned char in[SIZE], out[SIZE];
};

static struct end client, server;

static size_t size_of(unsigned number) { return number % 5 ? 8 : number % 2 ? 200 : SIZE; }

static void serve(void *state, int n) {
    struct end *s = *(struct end **)state;
    s->last = n;
    if (n < 0)
        fin_cont_end();
    CHECK(filled(s->in, (size_t)n, s->count++));
    memcpy(s->out, s->in, (size_t)n);
    fin_chan_send_recv_on(s->chan, s->out, (size_t)n, s->in, sizeof s->in, &s->on, serve, &s, sizeof s);
}

static void wait_for_calls(void *state, int result) {
    struct end *s = *(struct end **)state;
    CHECK_EQ(result, 0);
    fin_chan_recv_on(s->chan, s->in, sizeof s->in, &s->on, serve, &s, sizeof s);
}

static void serve_all(void *unused) {
    (void)unused;
    struct end *s = &server;
    fin_finish {
        fin_async_cont(wait_for_calls, &s, sizeof s);
    }
}

static void called(void *state, int n);

static void call(void *state, int result) {
    struct end *s = *(struct end **)state;
    CHECK_EQ(result, 0);
    fill(s->out, size_of(s->count), s->count);
    fin_chan_send_recv_on(s->chan, s->out, size_of(s->count), s->in, sizeof s->in, &s->on, called, &s, sizeof s);
}

static void called(void *state, int n) {
    struct end *s = *(struct end **)state;
    s->last = n;
    if (n < 0)
        fin_cont_end();
    CHECK_EQ(n, size_of(s->count));
    CHECK(filled(s->in, (size_t)n, s->count));
    if (++s->count == few(CALLS))
        fin_cont_end();
    if (next_random(&s->seed) % 64 == 0)
        fin_sleep_on(&s->sleep, 100000, call, &s, sizeof s);
    call(&s, 0);
}

static void call_all(void) {
    struct end *c = &client;
    client.chan = a;
    client.count = 0;
    fin_finish {
        fin_async_cont(call, &c, sizeof c);
    }
}

static void in_child(void *unused) {
    CHECK_EQ(fin_chan_take(&server.chan, sockets[1], 0), 0);
    serve_all(unused);
    CHECK_EQ(server.last, -ESHUTDOWN);
    CHECK_EQ(server.count, few(CALLS));
}

static void dies(void *unused) {
    (void)unused;
    CHECK_EQ(fin_chan_take(&server.chan, sockets[1], 0), 0);
    char c;
    CHECK_EQ(fin_chan_recv(server.chan, &c, 1), -EMSGSIZE);
    raise(SIGKILL);
}

static void between_processes(void) {
    pid_t pid = child(in_child, NULL);
    CHECK_EQ(fin_chan_offer(&a, sockets[0], NULL), 0);
    call_all();
    CHECK_EQ(client.count, few(CALLS));
    CHECK_EQ(fin_chan_close(a), 0);
    ended_well(pid);
    pid = child(dies, NULL);
    CHECK_EQ(fin_chan_offer(&a, sockets[0], NULL), 0);
    call_all();
    CHECK_EQ(client.last, -ECONNRESET);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK_EQ(fin_chan_close(a), 0);
}

static void between_threads(enum kind kind, unsigned flags) {
    struct fin_thread_handle t;
    open_kind(kind, 0, flags);
    server = (struct end){.chan = b};
    CHECK_EQ(fin_thread_start(&t, serve_all, NULL), 0);
    call_all();
    CHECK_EQ(client.count, few(CALLS));
    CHECK_EQ(fin_chan_close(a), 0);
    fin_thread_join_nc(&t);
    CHECK_EQ(server.last, -ESHUTDOWN);
    CHECK_EQ(fin_chan_close(b), 0);
}

int main(void) {
    if (!ON_TSAN)
        between_processes(); // first: it forks
    between_threads(PAIR, 0);
    between_threads(PAIR, FIN_CHAN_SHARED);
    between_threads(SOCKET, 0);
    return 0;
}
