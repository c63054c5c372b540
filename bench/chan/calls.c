// SPDX-License-Identifier: BSD-2-Clause
// Calls: one after the other, and from many AWEs at a time (ac-extensions 6.4, table 4).
#include <stdlib.h>

#include <fin.h>

#include "rows.h"

enum { BYTES = FIN_RPC_LINE, AWES = 16 };

static struct fin_rpc *caller, *server;
static long count;

// Ends of each sort are opened once.
static void use(struct fin_rpc **kept, unsigned flags, long n) {
    struct fin_chan *a, *b;
    if (!kept[0]) {
        BENCH_DID(fin_chan_pair(&a, &b, &(struct fin_chan_options){0, flags}));
        BENCH_DID(fin_rpc_open(&kept[0], a, FIN_RPC_CLIENT));
        BENCH_DID(fin_rpc_open(&kept[1], b, 0));
    }
    caller = kept[0];
    server = kept[1];
    count = n;
}

static FIN_BLOCKING void serve(void *unused) {
    char p[BYTES];
    uint32_t id;
    (void)unused;
    for (long i = 0; i < count; i++)
        BENCH_MUST(fin_rpc_accept(server, p, sizeof p, &id) == BYTES && fin_rpc_reply(server, id, p, BYTES) == 0);
}

static FIN_BLOCKING void call(long times) {
    char p[BYTES] = {0};
    for (long i = 0; i < times; i++)
        BENCH_MUST(fin_rpc_call(caller, p, BYTES, p, BYTES) == BYTES);
}

static FIN_BLOCKING void call_all(void *unused) {
    (void)unused;
    call(count);
}

static FIN_BLOCKING void call_some(void *which) { call(count / AWES + (long)((intptr_t)which < count % AWES)); }

static FIN_BLOCKING void call_lazy(void *unused) {
    (void)unused;
    fin_finish {
        for (intptr_t i = 0; i < AWES; i++)
            fin_async_call(call_some, (void *)i);
    }
}

static FIN_BLOCKING void call_eager(void *unused) {
    (void)unused;
    fin_finish {
        for (intptr_t i = 0; i < AWES; i++)
            fin_async_eager_call(call_some, (void *)i);
    }
}

static struct fin_rpc *kept[2];

double call_sync(long n) {
    use(kept, 0, n);
    return two_sides(call_all, serve, NULL, n);
}

double call_many(long n) {
    use(kept, 0, n);
    return two_sides(call_lazy, serve, NULL, n);
}

double call_many_eager(long n) {
    use(kept, 0, n);
    return two_sides(call_eager, serve, NULL, n);
}

double call_local(long n) {
    static struct fin_rpc *here[2];
    use(here, FIN_CHAN_LOCAL, n);
    uint64_t start = bench_ticks();
    fin_finish {
        fin_async_call(serve, NULL);
        call(n);
    }
    return bench_since(start, (double)n);
}
