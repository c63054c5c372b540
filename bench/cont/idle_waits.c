// SPDX-License-Identifier: BSD-2-Clause
#include "idle_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fin.h>

#include "../../examples/server.h"
#include "rows.h"

long idle_woken;

static struct fin_awe **slots;
static char *objects;
static size_t size_of_object;

void idle_waits_begin(const struct idle_wait *w, long n) {
    BENCH_GOT(slots = malloc((size_t)n * sizeof *slots));
    BENCH_GOT(objects = malloc((size_t)n * w->object + 1));
    size_of_object = w->object;
    memset(slots, 1, (size_t)n * sizeof *slots);
}

void *idle_slot(long i) { return &slots[i]; }

static long number_of(void *slot) { return (long)((struct fin_awe **)slot - slots); }
static void *object_of(void *slot) { return objects + (size_t)number_of(slot) * size_of_object; }

static void ends(void *one, int result) {
    idle_woken += result >= 0 ? *(long *)one : 0;
    fin_cont_end();
}

static const long one = 1;

// ---- for fin_schedule

static void makes_itself_known(struct fin_awe *a, void *slot) { *(struct fin_awe **)slot = a; }

static void plainly(void *slot) { fin_block_on_then(ends, &one, sizeof one, makes_itself_known, slot); }

static void plainly_with_stack(void *slot) {
    fin_suspend(slot);
    idle_woken++;
}

static void wake_plainly(long n) {
    for (long i = 0; i < n; i++)
        fin_schedule(slots[i]);
}

const struct idle_wait waits_plainly = {.body = plainly, .wake = wake_plainly};
const struct idle_wait stack_plainly = {.body = plainly_with_stack, .wake = wake_plainly};

// ---- for an object of fin/sync.h

static struct fin_sem sem = FIN_SEM_INIT(0);

static void for_sem(void *slot) { fin_sem_wait_on(&sem, object_of(slot), ends, &one, sizeof one); }

static void for_sem_with_stack(void *slot) {
    (void)slot;
    idle_woken += fin_sem_wait(&sem) == 0;
}

static void wake_sem(long n) {
    for (long i = 0; i < n; i++)
        fin_sem_post(&sem);
}

const struct idle_wait waits_for_sem = {for_sem, sizeof(struct fin_sync_on), NULL, wake_sem};
const struct idle_wait stack_for_sem = {.body = for_sem_with_stack, .wake = wake_sem};

// ---- in fin_recv, each on a connection of its own

static int (*sockets)[2];

// Descriptors of the channels to the servers of other tables, and more; connections from which one can say what one takes.
enum { OTHERS = 256, FEWEST = 100 };

static long open_sockets(long n) {
    long most = ((long)raise_descriptors((rlim_t)(2 * n + OTHERS)) - OTHERS) / 2;
    n = n < most ? n : most;
    if (n < FEWEST)
        bench_failed("the process gets no descriptors for so many connections", __FILE__, __LINE__, EMFILE);
    BENCH_GOT(sockets = malloc((size_t)n * sizeof *sockets));
    for (long i = 0; i < n; i++)
        BENCH_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[i]));
    return n;
}

static void close_sockets(long n) {
    for (long i = 0; i < n; i++) // the other ends, so that each receives its end
        close(sockets[i][1]);
}

struct connection {
    struct fin_on on;
    uint64_t request;
};

static void in_recv(void *slot) {
    struct connection *c = object_of(slot);
    fin_recv_on(&c->on, sockets[number_of(slot)][0], &c->request, sizeof c->request, 0, ends, &one, sizeof one);
}

static void in_recv_with_stack(void *slot) {
    uint64_t request;
    idle_woken += fin_recv(sockets[number_of(slot)][0], &request, sizeof request, 0) == 0;
}

const struct idle_wait waits_in_recv = {in_recv, sizeof(struct connection), open_sockets, close_sockets};
const struct idle_wait stack_in_recv = {in_recv_with_stack, 0, open_sockets, close_sockets};

// ---- in a receive of a channel, which they share: in line for it

static struct fin_chan *there, *here;

static long open_channel(long n) {
    struct fin_chan_options o = {0, FIN_CHAN_LOCAL};
    BENCH_DID(fin_chan_pair(&there, &here, &o));
    return n;
}

struct session {
    struct fin_chan_on on;
    uint64_t request;
};

static void in_chan(void *slot) {
    struct session *s = object_of(slot);
    fin_chan_recv_on(here, &s->request, sizeof s->request, &s->on, ends, &one, sizeof one);
}

static void in_chan_with_stack(void *slot) {
    uint64_t request;
    (void)slot;
    idle_woken += fin_chan_recv(here, &request, sizeof request) == sizeof request;
}

static void send_all(long n) {
    for (uint64_t i = 0; i < (uint64_t)n; i++)
        BENCH_MUST(fin_chan_send(there, &i, sizeof i) == 0);
}

const struct idle_wait waits_in_chan = {in_chan, sizeof(struct session), open_channel, send_all};
const struct idle_wait stack_in_chan = {in_chan_with_stack, 0, open_channel, send_all};

// ---- for a request of an end of fin/rpc.h, which they share

static struct fin_rpc *client, *server;

static long open_rpc(long n) {
    open_channel(n);
    BENCH_DID(fin_rpc_open(&client, there, FIN_RPC_CLIENT));
    BENCH_DID(fin_rpc_open(&server, here, 0));
    return n;
}

struct worker {
    struct fin_rpc_on on;
    uint32_t id;
    uint64_t request;
};

static void replies(void *state, int n) {
    struct worker *w = *(struct worker **)state;
    idle_woken += n == sizeof w->request && fin_rpc_reply(server, w->id, &w->request, sizeof w->request) == 0;
    fin_cont_end();
}

static void in_rpc(void *slot) {
    struct worker *w = object_of(slot);
    fin_rpc_accept_on(server, &w->request, sizeof w->request, &w->id, &w->on, replies, &w, sizeof w);
}

static void in_rpc_with_stack(void *slot) {
    uint64_t request;
    uint32_t id;
    (void)slot;
    idle_woken += fin_rpc_accept(server, &request, sizeof request, &id) == sizeof request &&
                  fin_rpc_reply(server, id, &request, sizeof request) == 0;
}

static void call_all(long n) {
    for (uint64_t i = 0, answer; i < (uint64_t)n; i++)
        BENCH_MUST(fin_rpc_call(client, &i, sizeof i, &answer, sizeof answer) == sizeof answer);
}

const struct idle_wait waits_in_rpc = {in_rpc, sizeof(struct worker), open_rpc, call_all};
const struct idle_wait stack_in_rpc = {in_rpc_with_stack, 0, open_rpc, call_all};
