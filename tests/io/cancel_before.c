// SPDX-License-Identifier: BSD-2-Clause
// In a block that is cancelled already nothing is started. The calls in _nc, and those in a shielded block, are not
// concerned.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include "net.h"

static int fd[2], listener, client;
static struct sockaddr_in address;
static char path[64], buffer[8];
static struct statx info;

// Each could go on at once.
static void refused(void) {
    CHECK_EQ(fin_sleep(0), -ECANCELED);
    CHECK_EQ(fin_sleep_until(0), -ECANCELED);
    CHECK_EQ(fin_read(fd[0], buffer, 1), -ECANCELED);
    CHECK_EQ(fin_write(fd[0], "w", 1), -ECANCELED);
    CHECK_EQ(fin_recv(fd[0], buffer, 1, 0), -ECANCELED);
    CHECK_EQ(fin_send(fd[0], "s", 1, 0), -ECANCELED);
    CHECK_EQ(fin_poll(fd[0], POLLIN), -ECANCELED);
    CHECK_EQ(fin_accept(listener, NULL, NULL), -ECANCELED);
    CHECK_EQ(fin_accept4(listener, NULL, NULL, 0), -ECANCELED);
    CHECK_EQ(fin_connect(client, (struct sockaddr *)&address, sizeof address), -ECANCELED);
    CHECK_EQ(fin_openat(AT_FDCWD, path, O_RDWR | O_CREAT, 0600), -ECANCELED);
    CHECK_EQ(fin_pread(fd[0], buffer, 1, 0), -ECANCELED);
    CHECK_EQ(fin_pwrite(fd[0], buffer, 1, 0), -ECANCELED);
    CHECK_EQ(fin_fsync(fd[0]), -ECANCELED);
    CHECK_EQ(fin_statx(AT_FDCWD, "/", 0, STATX_SIZE, &info), -ECANCELED);
    CHECK_EQ(fin_close(fd[0]), -ECANCELED);
    size_t done = 1; // what would have nothing to do
    CHECK_EQ(fin_read(fd[0], buffer, 0), -ECANCELED);
    CHECK_EQ(fin_read_all(fd[0], buffer, 0, &done), -ECANCELED);
    CHECK_EQ(done, 0);
    CHECK_EQ(fin_write_all(fd[0], buffer, 0, NULL), -ECANCELED);
    CHECK_EQ(fin_recv_all(fd[0], buffer, 0, 0, NULL), -ECANCELED);
    CHECK_EQ(fin_send_all(fd[0], buffer, 0, 0, NULL), -ECANCELED);
    CHECK_EQ(fin_read_all_nc(fd[0], buffer, 0, NULL), 0);
}

static void nothing_happened(void) {
    struct stat s;
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    CHECK_EQ(recv(fd[1], buffer, 1, MSG_DONTWAIT), -1); // nothing was sent
    CHECK_EQ(errno, EAGAIN);
    CHECK_EQ(recv(fd[0], buffer, 8, MSG_DONTWAIT), 3); // nothing was received, and it is still open
    CHECK_EQ(stat(path, &s), -1);
    CHECK_EQ(getpeername(client, (struct sockaddr *)&peer, &size), -1);
}

static void not_cancelled(void) {
    CHECK_EQ(write(fd[1], "abcdefg", 7), 7);
    CHECK_EQ(fin_sleep_nc(1), 0);
    CHECK_EQ(fin_sleep_until_nc(0), 0);
    CHECK_EQ(fin_read_nc(fd[0], buffer, 1), 1);
    CHECK_EQ(fin_recv_nc(fd[0], buffer, 1, 0), 1);
    CHECK_EQ(buffer[0], 'b');
    CHECK_EQ(fin_write_nc(fd[0], "w", 1), 1);
    CHECK_EQ(fin_send_nc(fd[0], "s", 1, 0), 1);
    CHECK_EQ(fin_poll_nc(fd[0], POLLIN), POLLIN);
    CHECK_EQ(fin_connect_nc(client, (struct sockaddr *)&address, sizeof address), 0);
    int a = fin_accept_nc(listener, NULL, NULL), b = fin_accept4_nc(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(a >= 0 && b >= 0);
    CHECK_EQ(fcntl(b, F_GETFD), FD_CLOEXEC);
    int file = fin_openat_nc(AT_FDCWD, path, O_RDWR | O_CREAT, 0600);
    CHECK(file >= 0);
    unlink(path);
    CHECK_EQ(fin_pwrite_nc(file, "xyz", 3, 0), 3);
    CHECK_EQ(fin_fsync_nc(file), 0);
    CHECK_EQ(fin_pread_nc(file, buffer, 8, 1), 2);
    CHECK_EQ(fin_statx_nc(file, "", AT_EMPTY_PATH, STATX_SIZE, &info), 0);
    CHECK_EQ(info.stx_size, 3);
    CHECK_EQ(fin_close_nc(file), 0);
    CHECK_EQ(fcntl(file, F_GETFD), -1);
    close(a);
    close(b);
}

int main(void) {
    snprintf(path, sizeof path, "/tmp/fin-before-%d", (int)getpid());
    stream_pair(fd);
    CHECK_EQ(write(fd[1], "abc", 3), 3);
    listener = tcp_listen(&address, 8);
    int waiting = tcp_connect(&address);
    client = socket(AF_INET, SOCK_STREAM, 0);
    fin_finish {
        fin_cancel();
        refused();
        nothing_happened();
        fin_finish {
            CHECK_EQ(fin_sleep(0), -ECANCELED);
        }
        fin_finish_nc {
            CHECK_EQ(fin_sleep(0), 0);
        }
        not_cancelled();
    }
    close(waiting);
    return 0;
}
