// SPDX-License-Identifier: BSD-2-Clause
// Sockets: the errors of the system calls come back as they are, and a send to nobody does not end the program.
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>

#include "net.h"

static void not_there(void) {
    struct sockaddr_in address;
    int fd = tcp_listen(&address, -1); // bound, not listening
    CHECK_EQ(fin_accept(fd, NULL, NULL), -EINVAL);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(fin_connect(client, (struct sockaddr *)&address, sizeof address), -ECONNREFUSED);
    close(client);
    close(fd);
    struct sockaddr_un nowhere = {.sun_family = AF_UNIX, .sun_path = "/nowhere/at/all"};
    client = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(fin_connect(client, (struct sockaddr *)&nowhere, sizeof nowhere), -ENOENT);
    close(client);
}

static void no_socket(void) {
    char c = 0;
    int fd[2];
    struct sockaddr_in address = {.sin_family = AF_INET};
    CHECK_EQ(fin_recv(-1, &c, 1, 0), -EBADF);
    CHECK_EQ(fin_send(-1, &c, 1, 0), -EBADF);
    CHECK_EQ(fin_accept(-1, NULL, NULL), -EBADF);
    CHECK_EQ(fin_connect(-1, (struct sockaddr *)&address, sizeof address), -EBADF);
    CHECK_EQ(fin_poll(-1, POLLIN), -EBADF);
    CHECK_EQ(pipe(fd), 0);
    CHECK_EQ(fin_recv(fd[0], &c, 1, 0), -ENOTSOCK);
    CHECK_EQ(fin_send(fd[1], &c, 1, 0), -ENOTSOCK);
    CHECK_EQ(fin_read(fd[1], &c, 1), -EBADF); // the wrong end
    CHECK_EQ(fin_write(fd[0], &c, 1), -EBADF);
    close(fd[0]);
    close(fd[1]);
}

// The mode of the descriptor does not matter, MSG_DONTWAIT does.
static void non_blocking(void) {
    static char c[64];
    static int fd[2];
    int watched = inotify_init1(IN_NONBLOCK);
    fin_shared int n = 0;
    stream_pair(fd);
    CHECK_EQ(fin_recv(fd[0], c, 1, MSG_DONTWAIT), -EAGAIN);
    fcntl(fd[0], F_SETFL, O_NONBLOCK);
    CHECK_EQ(fin_recv(fd[0], c, 1, MSG_DONTWAIT), -EAGAIN);
    char directory[] = "/tmp/fin-errors-XXXXXX", path[sizeof directory + 2];
    CHECK(mkdtemp(directory) != NULL);
    CHECK(inotify_add_watch(watched, directory, IN_CREATE) >= 0);
    fin_finish {
        fin_async { n += (int)fin_recv(fd[0], c, 1, 0); };
        fin_async { n += (int)fin_read(fd[0], c, 1); };
        fin_async { CHECK(fin_read(watched, c, sizeof c) > 0); };
        fin_yield();
        CHECK_EQ(fin_sleep(1), 0);
        CHECK_EQ(n, 0);
        CHECK_EQ(write(fd[1], "ab", 2), 2);
        snprintf(path, sizeof path, "%s/f", directory);
        CHECK_EQ(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
        unlink(path);
    }
    CHECK_EQ(n, 2);
    fin_finish {
        fin_async { n = (int)fin_read(watched, c, sizeof c); };
        CHECK_EQ(fin_sleep(1), 0);
        fin_cancel();
    }
    CHECK_EQ(n, -ECANCELED);
    close(fd[0]);
    close(fd[1]);
    close(watched);
    rmdir(directory);
}

// Listening and connecting.
static void non_blocking_connect(void) {
    struct sockaddr_un name;
    struct sockaddr_in address;
    socklen_t size;
    static int listeners[2];
    listeners[0] = unix_listen(&name, &size, 0);
    listeners[1] = tcp_listen(&address, 4);
    int first = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(fin_connect(first, (struct sockaddr *)&name, size), 0);
    fcntl(listeners[0], F_SETFL, O_NONBLOCK);
    fcntl(listeners[1], F_SETFL, O_NONBLOCK);
    static int fd[2], peer[2];
    fd[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    fd[1] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    fin_finish {
        fin_async { CHECK_EQ(fin_connect(fd[0], (struct sockaddr *)&name, size), 0); };
        fin_async { peer[1] = fin_accept(listeners[1], NULL, NULL); };
        CHECK_EQ(fin_connect(fd[1], (struct sockaddr *)&address, sizeof address), 0);
        CHECK_EQ(fin_sleep(3 * FIN_MS), 0);
        for (int i = 0; i < 2; i++) {
            peer[0] = fin_accept(listeners[0], NULL, NULL);
            CHECK(peer[0] >= 0);
            CHECK_EQ(fin_close(peer[0]), 0);
        }
    }
    CHECK(peer[1] >= 0);
    CHECK_EQ(fcntl(fd[1], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    close(peer[1]);
    close(fd[0]);
    close(fd[1]);
    close(first);
    close(listeners[0]);
    close(listeners[1]);
}

int main(void) {
    int fd[2];
    not_there();
    no_socket();
    non_blocking();
    non_blocking_connect();
    stream_pair(fd);
    close(fd[0]);
    CHECK_EQ(fin_send(fd[1], "x", 1, 0), -EPIPE);
    CHECK_EQ(fin_poll(fd[1], POLLIN) & (POLLIN | POLLHUP), POLLIN | POLLHUP);
    close(fd[1]);
    return 0;
}
