// SPDX-License-Identifier: BSD-2-Clause
// The servers of examples/names.c are found by name: who asks may send anything, also what is no name, and may end at any
// time.
#define main names_main
#include "../../examples/names.c"
#undef main

static FIN_BLOCKING ssize_t ask(struct fin_rpc *r, const char *bytes, size_t size, uint32_t *address) {
    return fin_rpc_call(r, bytes, size, address, sizeof *address);
}

// A client that is killed when it has had an answer.
static FIN_BLOCKING void is_killed(void *name_of_server) {
    struct fin_chan *c;
    struct fin_rpc *r;
    uint32_t address;
    int error;
    while ((error = fin_chan_connect(&c, name_of_server, 0)) == -ECONNREFUSED)
        EXPECT(fin_sleep(FIN_MS) == 0);
    EXPECT(error == 0 && fin_rpc_open(&r, c, FIN_RPC_CLIENT) == 0);
    EXPECT(lookup(r, "www.example", &address) == 0);
    raise(SIGKILL);
}

FIN_BLOCKING int main(void) {
    struct server s = {.name = "anybody"};
    uint32_t address = 0;
    char text[64];
    int status;
    address_name(text, sizeof text, s.name, getpid());
    s.process = start_process(serve, &s);
    pid_t killed = start_process(is_killed, text);
    EXPECT(s.process > 0 && killed > 0);
    EXPECT(waitpid(killed, &status, 0) == killed && WIFSIGNALED(status));
    struct fin_rpc *r = connect_to(&s);
    EXPECT(ask(r, "", 0, &address) == 0);
    EXPECT(ask(r, "abc", 3, &address) == 0 && address == 0);
    EXPECT(ask(r, "abc", 4, &address) == sizeof address && address == address_of("abc"));
    EXPECT(lookup(r, "www.example", &address) == 0 && address == address_of("www.example"));
    EXPECT(fin_rpc_close(r) == 0);
    kill(s.process, SIGKILL);
    EXPECT(waitpid(s.process, NULL, 0) == s.process);
    return 0;
}
