// SPDX-License-Identifier: BSD-2-Clause
// What waits to be closed at a fork is not closed in the child, by numbers that may be those of other files: a child may
// have closed all descriptors.
#include <fcntl.h>

#include "lingers.h"

enum { MANY = 5, FILES = 40 };
static int readers[MANY + 1];

static void drop_one(int *reader) {
    char byte;
    int s = lingers(reader, true);
    CHECK_EQ(fin_chan_send_fds(a, "x", 1, &s, 1), 0);
    close(s);
    CHECK_EQ(fin_chan_recv(b, &byte, 1), 1);
}

// It has come to its end, so what waits behind it has been closed.
static void read_all(int reader) {
    char bytes[4096];
    while (read(reader, bytes, sizeof bytes) > 0) {
    }
}

static void in_the_child(void) {
    int fds[FILES];
    alarm(60);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    for (int i = 0; i < FILES; i++)
        CHECK((fds[i] = open("/dev/null", O_RDONLY)) >= 0);
    open_kind(SOCKET, 0, 0);
    drop_one(&readers[MANY]);
    read_all(readers[MANY]);
    CHECK_EQ(fin_sleep(50 * FIN_MS), 0); // they would be closed by now
    for (int i = 0; i < FILES; i++)
        CHECK(fcntl(fds[i], F_GETFD) >= 0);
    _exit(0);
}

int main(void) {
    skip_without_forks_of_threads();
    alarm(60);
    open_kind(SOCKET, 0, 0);
    CHECK_EQ(fin_sleep(1), 0);
    int before = open_descriptors();
    for (int i = 0; i < MANY; i++)
        drop_one(&readers[i]);
    until_open_descriptors(before + MANY + MANY - 1); // the first is being closed
    pid_t child = fork();
    if (child == 0)
        in_the_child();
    ended_well(child);
    return 0;
}
