// SPDX-License-Identifier: BSD-2-Clause
// The servers of examples/lookup.c are found by name: who asks may send a name without an end.
#define main lookup_main
#include "../../examples/lookup.c"
#undef main

FIN_BLOCKING int main(void) {
    struct server s = {.name = "anybody"};
    struct channel c;
    struct question q = {.id = 1};
    struct answer a = {0};
    char longest[sizeof q.name] = "";
    memset(q.name, 'x', sizeof q.name);
    memset(longest, 'x', sizeof longest - 1);
    start_server(&s);
    connect_to(&c, s.name);
    EXPECT(fin_send(c.fd, &q, sizeof q, 0) == sizeof q);
    EXPECT(fin_recv(c.fd, &a, sizeof a, 0) == sizeof a);
    EXPECT(a.id == 1 && a.address == address_of(longest));
    stop_server(&s);
    close(c.fd);
    return 0;
}
