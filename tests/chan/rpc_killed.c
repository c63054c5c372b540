// SPDX-License-Identifier: BSD-2-Clause
// A server process that is killed at a random moment in the middle of many calls: each call ends with its own answer or an
// error, at once; nothing is left. And a client process that dies while it is served. FIN_KILLS says how often.
#include <sys/prctl.h>

#include "rpc.h"

static unsigned seed = 23, answers;

static void handle(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *unused) {
    uint64_t x, y;
    (void)unused;
    CHECK_EQ(size, sizeof x);
    memcpy(&x, request, sizeof x);
    if (x % 5 == 0)
        fin_sleep(1000 * (x % 50));
    y = answer_to(x);
    fin_rpc_reply(r, id, &y, sizeof y);
}

static void serve(void *unused) {
    struct fin_chan *c;
    struct fin_rpc *r;
    (void)unused;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fin_chan_take(&c, sockets[1], 0) == 0 && fin_rpc_open(&r, c, 0) == 0)
        fin_rpc_serve(r, handle, NULL);
}

static void asks(void *unused) {
    ssize_t n;
    (void)unused;
    while ((n = ask(next_random(&seed))) == 8)
        answers++;
    CHECK(n == -ECONNRESET || n == -EPIPE);
}

static void call_on(void *unused) {
    struct fin_chan *c;
    (void)unused;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fin_chan_take(&c, sockets[1], 0) != 0 || fin_rpc_open(&caller, c, FIN_RPC_CLIENT) != 0)
        return;
    fin_finish {
        for (int i = 0; i < 8; i++)
            fin_async_call(asks, NULL);
    }
}

static void open_with(struct fin_rpc **r, unsigned flags) {
    CHECK_EQ(fin_chan_offer(&a, sockets[0], &(struct fin_chan_options){4096, 0}), 0);
    CHECK_EQ(fin_rpc_open(r, a, flags), 0);
}

// After some time, or some answers, or both.
static void kill_it(pid_t pid, unsigned more) {
    for (more += answers; answers < more;)
        CHECK_EQ(fin_sleep(20000), 0);
    CHECK_EQ(fin_sleep(next_random(&seed) % 2000 * 1000), 0);
    CHECK_EQ(kill(pid, SIGKILL), 0);
}

static void server_dies(void) {
    pid_t pid = child(serve, NULL);
    open_with(&caller, FIN_RPC_CLIENT);
    fin_finish {
        fin_async { kill_it(pid, next_random(&seed) % 3 ? 0 : 1 + next_random(&seed) % 20); };
        for (int i = 0; i < 8; i++)
            fin_async_call(asks, NULL);
    }
    ssize_t n = ask(1);
    CHECK(n == -ECONNRESET || n == -EPIPE);
    CHECK_EQ(fin_rpc_close(caller), 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static void client_dies(void) {
    pid_t pid = child(call_on, NULL);
    open_with(&server, 0);
    fin_finish {
        fin_async { kill_it(pid, 0); };
        CHECK_EQ(fin_rpc_serve(server, handle, NULL), -ECONNRESET);
    }
    CHECK_EQ(fin_rpc_close(server), 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

int main(void) {
    const char *asked = getenv("FIN_KILLS");
    unsigned kills = asked ? (unsigned)atoi(asked) : few(150);
    server_dies();
    int before = settled_descriptors();
    for (unsigned i = 0; i < kills; i++) {
        seed = 23 + i * 7919;
        server_dies();
        client_dies();
    }
    CHECK(answers > 0);
    until_open_descriptors(before);
    return 0;
}
