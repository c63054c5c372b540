// SPDX-License-Identifier: BSD-2-Clause
// splice and tee: between a file, pipes and sockets, at positions and without; waiting for something and for room;
// cancelled; interrupted by signals, which nobody hears of.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "net.h"

enum { MUCH = 400000 };

static char data[MUCH], back[MUCH];
static int file, pipes[2], sockets[2];

// The C library's, of which so many calls are interrupted.
static int interrupts;

int poll(struct pollfd *fds, nfds_t count, int ms) {
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    if (interrupts == 0)
        return ppoll(fds, count, ms < 0 ? NULL : &time, NULL);
    interrupts--;
    errno = EINTR;
    return -1;
}

// From the file to a socket, by way of a pipe.
static void send_file(void *unused) {
    (void)unused;
    off_t at = 0;
    while (at < MUCH) {
        ssize_t n = fin_splice(file, &at, pipes[1], NULL, MUCH - (size_t)at, 0);
        CHECK(n > 0);
        for (ssize_t left = n; left > 0;) {
            ssize_t moved = fin_splice(pipes[0], NULL, sockets[1], NULL, (size_t)left, 0);
            CHECK(moved > 0);
            left -= moved;
        }
    }
}

static void file_to_socket(void) {
    memset(back, 0, sizeof back);
    fin_finish {
        fin_async_call(send_file, NULL);
        CHECK_EQ(fin_read_all(sockets[0], back, MUCH, NULL), 0);
    }
    CHECK(memcmp(data, back, MUCH) == 0);
    CHECK_EQ(lseek(file, 0, SEEK_CUR), 0); // the position was given
}

static ssize_t from_socket;
static void receive_to_file(void *unused) {
    (void)unused;
    off_t at = 1000;
    from_socket = fin_splice(sockets[0], NULL, pipes[1], NULL, 100, 0);
    if (from_socket > 0) {
        CHECK_EQ(fin_splice_nc(pipes[0], NULL, file, &at, (size_t)from_socket, 0), from_socket);
        CHECK_EQ(at, 1000 + from_socket);
    }
}

static void socket_to_file(void) {
    fin_finish {
        fin_async_call(receive_to_file, NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(write(sockets[1], "spliced", 7), 7);
    }
    CHECK_EQ(from_socket, 7);
    CHECK_EQ(pread(file, back, 7, 1000), 7);
    CHECK(memcmp(back, "spliced", 7) == 0);
    CHECK_EQ(pwrite(file, data + 1000, 7, 1000), 7);
}

static void cancelled(void) {
    fin_shared ssize_t n = 1, m = 1, k = 1;
    int other[2];
    CHECK_EQ(pipe(other), 0);
    int to = other[1], from = other[0];
    fin_finish {
        fin_async { n = fin_splice(sockets[0], NULL, pipes[1], NULL, 100, 0); };
        fin_async { m = fin_splice(from, NULL, pipes[1], NULL, 100, 0); };
        fin_async { k = fin_tee(from, pipes[1], 100, 0); };
        CHECK_EQ(fin_sleep(3 * FIN_MS), 0);
        fin_cancel();
    }
    CHECK_EQ(n, -ECANCELED);
    CHECK_EQ(m, -ECANCELED);
    CHECK_EQ(k, -ECANCELED);
    CHECK_EQ(fin_splice(from, NULL, pipes[1], NULL, 1, SPLICE_F_NONBLOCK), -EAGAIN);
    CHECK_EQ(fin_tee(from, pipes[1], 1, SPLICE_F_NONBLOCK), -EAGAIN);
    CHECK_EQ(write(to, "abc", 3), 3); // nobody is there any more to take it
    CHECK_EQ(fin_tee(from, pipes[1], 2, 0), 2);
    CHECK_EQ(fin_read(pipes[0], back, 10), 2);
    CHECK_EQ(fin_read(from, back, 10), 3);
    close(to);
    CHECK_EQ(fin_splice(from, NULL, pipes[1], NULL, 1, 0), 0); // the end
    CHECK_EQ(fin_splice(from, NULL, pipes[1], NULL, 0, 0), 0);
    close(from);
}

static void interrupted(void) {
    fin_shared ssize_t n = 1, m = 1;
    int other[2];
    CHECK_EQ(pipe(other), 0);
    int from = other[0];
    interrupts = 2;
    fin_finish {
        fin_async { n = fin_splice(from, NULL, pipes[1], NULL, 1, 0); };
        interrupts = 2;
        fin_async { m = fin_poll(from, POLLIN); };
        fin_cancel();
    }
    interrupts = 0;
    CHECK_EQ(n, -ECANCELED);
    CHECK_EQ(m, -ECANCELED);
    close(from);
    close(other[1]);
}

// A pipe that is full: waits for room.
static void room(void) {
    off_t at = 0, bad = 5;
    fin_shared ssize_t n = 1;
    int size = fcntl(pipes[1], F_GETPIPE_SZ);
    CHECK_EQ(fin_splice(file, &at, pipes[1], NULL, (size_t)size, 0), size);
    fin_finish {
        fin_async { n = fin_splice(file, NULL, pipes[1], NULL, 5000, 0); };
        CHECK_EQ(fin_sleep(3 * FIN_MS), 0);
        CHECK_EQ(n, 1);
        CHECK_EQ(read(pipes[0], back, (size_t)size), size);
    }
    CHECK(n > 0);
    CHECK_EQ(lseek(file, 0, SEEK_CUR), n);
    CHECK_EQ(read(pipes[0], back, (size_t)n), n);
    CHECK(memcmp(back, data, (size_t)n) == 0);
    CHECK_EQ(fin_splice(pipes[0], &bad, file, NULL, 1, 0), -ESPIPE);
    CHECK_EQ(bad, 5);
    CHECK_EQ(fin_splice(file, NULL, sockets[1], NULL, 1, 0), -EINVAL); // none is a pipe
}

// A socket that poll(2) calls full long before it is: what fits is moved, though nobody reads.
static void some_room(void) {
    fin_shared ssize_t n = 0;
    int size;
    socklen_t length = sizeof size;
    CHECK_EQ(getsockopt(sockets[1], SOL_SOCKET, SO_SNDBUF, &size, &length), 0);
    size = size / 2 < MUCH ? size / 2 : MUCH;
    CHECK_EQ(fin_write(sockets[1], data, (size_t)size), size);
    struct pollfd p = {.fd = sockets[1], .events = POLLOUT};
    CHECK_EQ(poll(&p, 1, 0), 0);
    fin_finish {
        fin_async { n = fin_splice(pipes[0], NULL, sockets[1], NULL, 3, 0); };
        CHECK_EQ(write(pipes[1], "abc", 3), 3);
        for (int i = 0; i < 10000 && n == 0; i++)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel();
    }
    CHECK_EQ(n, 3);
    CHECK_EQ(fin_read_all(sockets[0], back, (size_t)size + 3, NULL), 0);
}

int main(void) {
    file = nameless_file();
    for (int i = 0; i < MUCH; i++)
        data[i] = (char)(i * 7 + i / 256);
    CHECK_EQ(fin_write_all(file, data, MUCH, NULL), 0);
    CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
    CHECK_EQ(pipe(pipes), 0);
    stream_pair(sockets);
    file_to_socket();
    socket_to_file();
    cancelled();
    interrupted();
    room();
    some_room();
    return 0;
}
