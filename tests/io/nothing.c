// SPDX-License-Identifier: BSD-2-Clause
// A read or write of nothing, and of no buffers, says 0 at once, with a stack or without, also by a registered number or in
// a chain: of what has nothing to read, or is full, or whose peer is gone. Those around wait for no event meanwhile. Only a
// write to a socket of datagrams is something: an empty one.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/uio.h>

#include <fin/fixed.h>
#include <fin/linked.h>

#include "on_call.h"

static int fd;
static char byte;

CALL(reads, fin_read_on(&on, fd, &byte, 0, REST))
CALL(reads_vectors, fin_readv_on(&on, fd, NULL, 0, REST))
CALL(writes, fin_write_on(&on, fd, &byte, 0, REST))
CALL(writes_vectors, fin_writev_on(&on, fd, NULL, 0, REST))

static void steps(struct fin_step s) {
    CHECK_EQ(fin_linked(&s, 1), 1);
    CHECK_EQ(s.result, 0);
}

static void reads_nothing(int from) {
    int number = fin_file_register(from);
    CHECK(number >= 0);
    for (int i = 0; i < 2; i++) {
        fd = i ? number : from;
        CHECK_EQ(fin_read(fd, &byte, 0), 0);
        CHECK_EQ(fin_readv_nc(fd, NULL, 0), 0);
        CHECK_EQ(run(reads), 0);
        CHECK_EQ(run(reads_vectors), 0);
        steps(fin_step_read(fd, &byte, 0));
    }
    CHECK_EQ(fin_file_unregister(number), 0);
}

static void writes_no_byte(int to) {
    int number = fin_file_register(to);
    CHECK(number >= 0);
    for (int i = 0; i < 2; i++) {
        fd = i ? number : to;
        CHECK_EQ(fin_write(fd, &byte, 0), 0);
        CHECK_EQ(run(writes), 0);
        steps(fin_step_write(fd, &byte, 0));
    }
    CHECK_EQ(fin_file_unregister(number), 0);
}

static void writes_nothing(int to) {
    int number = fin_file_register(to);
    CHECK(number >= 0);
    for (int i = 0; i < 2; i++) {
        fd = i ? number : to;
        CHECK_EQ(fin_writev(fd, NULL, 0), 0);
        CHECK_EQ(run(writes_vectors), 0);
    }
    CHECK_EQ(fin_file_unregister(number), 0);
}

static void inotify(void) {
    int n = inotify_init1(IN_CLOEXEC);
    CHECK(n >= 0);
    reads_nothing(n);
    close(n);
}

static void an_eventfd(void) {
    int n = eventfd(0, EFD_CLOEXEC);
    CHECK_EQ(eventfd_write(n, UINT64_MAX - 1), 0);
    writes_nothing(n);
    writes_no_byte(n);
    close(n);
}

static void terminal(void) {
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        return; // there is none here
    reads_nothing(master);
    close(master);
}

static void a_pipe(void) {
    int ends[2];
    static char page[4096];
    CHECK_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    reads_nothing(ends[0]);
    while (write(ends[1], page, sizeof page) > 0)
        continue;
    CHECK_EQ(fcntl(ends[1], F_SETFL, 0), 0);
    writes_nothing(ends[1]);
    writes_no_byte(ends[1]);
    close(ends[0]);
    writes_nothing(ends[1]);
    writes_no_byte(ends[1]);
    close(ends[1]);
}

static void a_socket(void) {
    int pair[2];
    stream_pair(pair);
    reads_nothing(pair[0]);
    writes_nothing(pair[0]);
    close(pair[1]);
    reads_nothing(pair[0]);
    writes_nothing(pair[0]);
    close(pair[0]);
}

static void datagrams(void) {
    int pair[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair), 0);
    writes_no_byte(pair[0]);
    for (int i = 0; i < 6; i++)
        CHECK_EQ(recv(pair[1], &byte, 1, MSG_DONTWAIT), 0);
    CHECK_EQ(recv(pair[1], &byte, 1, MSG_DONTWAIT), -1);
    close(pair[0]);
    close(pair[1]);
}

int main(void) {
    alarm(20); // a thread that waits in the kernel hears of no time limit
    inotify();
    terminal();
    a_pipe();
    a_socket();
    an_eventfd();
    datagrams();
    fd = -1;
    CHECK_EQ(fin_read(fd, &byte, 0), -EBADF);
    CHECK_EQ(run(reads), -EBADF);
    CHECK_EQ(run(writes), -EBADF);
    CHECK_EQ(run(writes_vectors), -EBADF);
    return 0;
}
