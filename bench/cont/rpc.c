// SPDX-License-Identifier: BSD-2-Clause
// A null RPC between two AWEs of one thread (continuations, tables 4 and 5): a request of one word, a reply of one word.
// With stacks on both sides; without, through the queue; with the stack handed over, in parts or at once; and with the
// waiting continuation recognized.
#include <string.h>

#include <fin.h>

#include "rows.h"

struct call {
    long request, reply, left;
};

// ---- with stacks: the message lies where both find it, the switch is directed and does not queue

static uint32_t client_id, server_id;
static struct call message;
static bool stop;

static void serves(void *p) {
    (void)p;
    while (!stop) {
        message.reply = message.request + 1;
        fin_yield_to_id_and_save_no_dispatch(client_id, server_id);
    }
}

static double stacks(long n) {
    double result = 0;
    stop = false;
    if (!client_id) {
        BENCH_DID(fin_awe_id_create(&client_id));
        BENCH_DID(fin_awe_id_create(&server_id));
    }
    fin_finish {
        fin_async {
            fin_yield_and_save(server_id);
            serves(NULL);
            fin_yield_to_id(client_id);
        };
        uint64_t start = bench_ticks();
        for (long i = 0; i < n; i++) {
            message.request = i;
            fin_yield_to_id_and_save_no_dispatch(server_id, client_id);
        }
        result = bench_since(start, (double)n);
        stop = true;
        fin_yield_to_id_and_save_no_dispatch(server_id, client_id);
    }
    return result;
}

// The same with waits of the kind that those below are: a cancel ends them, and any thread may. Each has its message in a
// place of its own, to which the other copies it.
static struct fin_awe *stackful[2];
static struct call message_of[2];

static void wakes(void *slot) { fin_schedule(*(struct fin_awe **)slot); }

static bool hand_and_wait(struct fin_awe **slot, const struct call *c, struct fin_awe **to, struct call *of_to) {
    struct fin_cancel_item item;
    *of_to = *c;
    fin_cancel_item_add(&item, wakes, slot);
    bool ran = fin_switch_context(NULL, NULL, 0, slot, *to) == 0;
    return fin_cancel_item_remove(&item) && ran;
}

static void serves_cancellably(void *p) {
    (void)p;
    struct fin_cancel_item item;
    fin_cancel_item_add(&item, wakes, &stackful[1]);
    fin_suspend(&stackful[1]);
    fin_cancel_item_remove(&item);
    for (struct call c = message_of[1]; !stop; c = message_of[1]) {
        c.reply = c.request + 1;
        if (!hand_and_wait(&stackful[1], &c, &stackful[0], &message_of[0]))
            break;
    }
}

static double cancellable(long n) {
    fin_shared double result = 0;
    stop = false;
    fin_finish {
        fin_async_call(serves_cancellably, NULL);
        fin_async {
            struct call c = {0};
            uint64_t begun = bench_ticks();
            for (; c.request < n; c.request++) {
                if (!hand_and_wait(&stackful[0], &c, &stackful[1], &message_of[1]))
                    break;
                c.reply = message_of[0].reply;
            }
            result = bench_since(begun, (double)n);
            BENCH_MUST(c.reply == n);
            stop = true;
            fin_schedule(stackful[1]);
        };
    }
    return result;
}

// ---- without

static struct fin_awe *client, *server;
static uint64_t start;
static double cycles;

static long count, served;
static struct fin_sem ended = FIN_SEM_INIT(0);

#define RUN(name, server_step, client_step)                                                                                 \
    static double name(long n) {                                                                                            \
        count = n;                                                                                                          \
        served = 0;                                                                                                         \
        fin_finish {                                                                                                        \
            struct call c = {.left = n};                                                                                    \
            BENCH_MUST(fin_async_cont(server_step, &c, sizeof c) != NULL);                                                  \
            fin_yield();                                                                                                    \
            BENCH_MUST(fin_async_cont(client_step, &c, sizeof c) != NULL);                                                  \
            fin_sem_wait_nc(&ended);                                                                                        \
            fin_cancel();                                                                                                   \
        }                                                                                                                   \
        BENCH_MUST(served == n);                                                                                            \
        return cycles;                                                                                                      \
    }

static void begin(const struct call *c) {
    client = fin_awe_self();
    if (c->left == count)
        start = bench_ticks();
}

static void end(void) {
    cycles = bench_since(start, (double)count);
    client = NULL;
    fin_sem_post(&ended);
    fin_cont_end();
}

// Through the queue: each schedules the other and waits.
static void queued_server(void *p, int result) {
    server = fin_awe_self();
    if (result < 0)
        fin_cont_end();
    if (client && fin_cont_of(client)) {
        struct call *c = fin_cont_state(client);
        c->reply = c->request + 1;
        served++;
        fin_schedule(client);
    }
    fin_block_on(queued_server, p, 0);
}

static void queued_client(void *p, int result) {
    struct call *c = p;
    (void)result;
    begin(c);
    if (c->left-- == 0)
        end();
    c->request++;
    fin_schedule(server);
    fin_block_on(queued_client, c, sizeof *c);
}

RUN(queued, queued_server, queued_client)

// Handed over: the other's continuation is called on the same stack.
static void handed_server(void *p, int result) {
    server = fin_awe_self();
    if (result < 0)
        fin_cont_end();
    if (client && fin_cont_of(client)) {
        struct call *c = fin_cont_state(client);
        c->reply = c->request + 1;
        served++;
        fin_thread_handoff(handed_server, p, 0, client);
        fin_call_continuation(fin_cont_of(fin_awe_self()), 0);
    }
    fin_block_on(handed_server, p, 0);
}

static void handed_client(void *p, int result) {
    struct call *c = p;
    (void)result;
    begin(c);
    if (c->left-- == 0)
        end();
    c->request++;
    fin_thread_handoff(handed_client, c, sizeof *c, server);
    fin_call_continuation(fin_cont_of(fin_awe_self()), 0);
}

RUN(handed, handed_server, handed_client)

// The same in one call of the library.
static void switching_server(void *p, int result) {
    server = fin_awe_self();
    if (result < 0)
        fin_cont_end();
    if (client && fin_cont_of(client)) {
        struct call *c = fin_cont_state(client);
        c->reply = c->request + 1;
        served++;
        fin_switch_context(switching_server, p, 0, NULL, client);
    }
    fin_block_on(switching_server, p, 0);
}

static void switching_client(void *p, int result) {
    struct call *c = p;
    (void)result;
    begin(c);
    if (c->left-- == 0)
        end();
    c->request++;
    fin_switch_context(switching_client, c, sizeof *c, NULL, server);
}

RUN(switched, switching_server, switching_client)

// Recognized: the caller does the server's work, and then its own.
static void waiting_server(void *p, int result) {
    server = fin_awe_self();
    if (result < 0)
        fin_cont_end();
    fin_block_on(waiting_server, p, 0);
}

static void waiting_client(void *p, int result) {
    (void)result;
    (void)p;
}

static void recognizing_client(void *p, int result) {
    struct call c = *(struct call *)p;
    (void)result;
    begin(&c);
    while (c.left-- > 0) {
        c.request++;
        if (fin_thread_handoff_if(waiting_server, waiting_client, &c, sizeof c, server) != 0)
            break;
        struct call *request = fin_cont_state(client);
        request->reply = request->request + 1;
        served++;
        if (fin_thread_handoff_if(waiting_client, waiting_server, NULL, 0, client) != 0)
            break;
        c.reply = ((struct call *)fin_cont_state(client))->reply;
    }
    end();
}

RUN(recognized, waiting_server, recognizing_client)

static void reply_to(struct call *c) { c->reply = c->request + 1; }

static double plain(long n) {
    struct call c = {0};
    void (*fn)(struct call *) = reply_to;
    __asm__("" : "+r"(fn));
    uint64_t begun = bench_ticks();
    for (c.left = n; c.left > 0; c.left--)
        fn(&c);
    return bench_since(begun, (double)n);
}

enum { N = 50000 };

static struct bench_row rows[] = {
    {"with stacks, directed switches", stacks, N, NULL},
    {"with stacks, cancellable waits", cancellable, N, NULL},
    {"explicit, through the queue", queued, N, NULL, .base = 2},
    {"explicit, stack handed over", handed, N, NULL, .base = 2},
    {"explicit, switched to", switched, N, NULL, .base = 2},
    {"explicit, recognized", recognized, N, NULL, .base = 2, .at_most = 60},
    {"a function call", plain, N, NULL},
};

void table_rpc(void) {
    bench_table("rpc", "Null RPC between two AWEs of a thread: cycles per round trip", "cycles", rows, BENCH_COUNT(rows));
}

bool rpc_only(const char *row, long n) {
    for (size_t i = 0; i < BENCH_COUNT(rows); i++)
        if (strcmp(rows[i].name, row) == 0)
            return rows[i].run(n) != 0;
    return false;
}
