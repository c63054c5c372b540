// SPDX-License-Identifier: BSD-2-Clause
// A null RPC in one thread, whose client hands its stack to a server that waits, and gets it back: what handoff.c and
// parts.c do in two ways.
#ifndef FIN_TESTS_CONT_CALL_H
#define FIN_TESTS_CONT_CALL_H

struct call {
    long request, reply, calls;
};
static struct fin_awe *server, *client;

static void server_receive(void *p, int result) {
    server = fin_awe_self();
    if (result < 0) {
        LOG("server%d ", result);
        fin_cont_end();
    }
    fin_block_on(server_receive, p, sizeof(struct call));
}

static inline void run_server_and(fin_cont *client_loop) {
    fin_finish {
        struct call c = {.request = 1};
        fin_async_cont(server_receive, &c, sizeof c);
        fin_yield();
        fin_async_cont(client_loop, &c, sizeof c);
        fin_yield();
        fin_cancel();
    }
    CHECK_LOG("server-125 ");
}

#endif
