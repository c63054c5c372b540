// SPDX-License-Identifier: BSD-2-Clause
// A server is killed while it waits for a client, and reaped: its successor listens under the same name at once, though the
// kernel lets go of the socket later. As long as the server lives nobody else does.
#include <signal.h>

#include "chan.h"

enum { TIMES = 10 };

static void is_in_use(void *name) {
    struct fin_chan_listener *l;
    CHECK_EQ(fin_chan_listen(&l, name, NULL), -EADDRINUSE);
}

static void serve(const char *name, int told) {
    struct fin_chan_listener *l;
    struct fin_chan *c;
    alarm(20);
    CHECK_EQ(fin_chan_listen(&l, name, NULL), 0);
    CHECK_EQ(write(told, "", 1), 1);
    CHECK_EQ(fin_chan_accept_nc(l, &c), 0);
    _exit(1);
}

static void in_turn(const char *name) {
    int told[2];
    char c;
    CHECK_EQ(pipe(told), 0);
    for (int i = 0; i < TIMES; i++) {
        pid_t server = fork();
        CHECK(server >= 0);
        if (server == 0)
            serve(name, told[1]);
        CHECK_EQ(read(told[0], &c, 1), 1);
        in_a_child(is_in_use, (void *)name);
        usleep(2000); // until it waits
        CHECK_EQ(kill(server, SIGKILL), 0);
        CHECK_EQ(waitpid(server, NULL, 0), server);
    }
    close(told[0]);
    close(told[1]);
}

int main(void) {
    char folder[] = "/tmp/fin-chan-XXXXXX", path[64], abstract[64];
    alarm(60); // a server that could not listen says so, and never writes
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/name", folder);
    snprintf(abstract, sizeof abstract, "@%s", folder);
    in_turn(path);
    in_turn(abstract);
    CHECK_EQ(chdir(folder), 0);
    in_turn("name");
    CHECK_EQ(unlink("name"), 0);
    CHECK_EQ(rmdir(folder), 0);
    return 0;
}
