// SPDX-License-Identifier: BSD-2-Clause
// The servers of examples/names.c are found by name: who asks may send anything, also what is no name.
#define main names_main
#include "../../examples/names.c"
#undef main

static FIN_BLOCKING ssize_t ask(struct fin_rpc *r, const char *bytes, size_t size, uint32_t *address) {
    return fin_rpc_call(r, bytes, size, address, sizeof *address);
}

FIN_BLOCKING int main(void) {
    struct server s = {.name = "anybody"};
    uint32_t address = 0;
    s.process = start_process(serve, &s);
    EXPECT(s.process > 0);
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
