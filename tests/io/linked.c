// SPDX-License-Identifier: BSD-2-Clause
// Chains: each step after the one before it; the first that fails, or does less than it was told to, ends the chain;
// cancelled, each step says what it did.
#define _GNU_SOURCE
#include <fcntl.h>
#include <fin/linked.h>
#include <fin/stats.h>

#include "kernels.h"
#include "net.h"

static void in_order(void) {
    char back[8] = "";
    int fd = nameless_file();
    struct fin_step s[] = {
        fin_step_pwrite(fd, "abcd", 4, 0),
        fin_step_pwrite(fd, "xy", 2, 1),
        fin_step_pread(fd, back, 4, 0),
        fin_step_fsync(fd),
        fin_step_close(fd),
    };
    CHECK_EQ(fin_linked(s, 5), 5);
    CHECK_EQ(s[0].result, 4);
    CHECK_EQ(s[1].result, 2);
    CHECK_EQ(s[2].result, 4);
    CHECK_EQ(s[3].result, 0);
    CHECK_EQ(s[4].result, 0);
    CHECK(strcmp(back, "axyd") == 0);
    CHECK_EQ(fcntl(fd, F_GETFD), -1);
}

static void one_call(void) {
    static int pipes[2];
    struct fin_stats before, after;
    CHECK_EQ(pipe(pipes), 0);
    bool tells = pipes_tell_waits(); // or a write takes longer
    struct fin_step s[] = {fin_step_write(pipes[1], "a", 1), fin_step_write(pipes[1], "b", 1),
                           fin_step_write(pipes[1], "c", 1)};
    fin_stats(&before);
    CHECK_EQ(fin_linked(s, 3), 3);
    fin_stats(&after);
    if (on_epoll() || tells)
        CHECK_EQ(after.entered - before.entered, on_epoll() ? 0 : 1);
    close(pipes[0]);
    close(pipes[1]);
}

static void broken(void) {
    char back[8];
    int fd = nameless_file();
    struct fin_step fails[] = {fin_step_pwrite(fd, "abcd", 4, 0), fin_step_read(-1, back, 1), fin_step_close(fd)};
    CHECK_EQ(fin_linked(fails, 3), 1);
    CHECK_EQ(fails[1].result, -EBADF);
    CHECK_EQ(fails[2].result, -ECANCELED);
    CHECK(fcntl(fd, F_GETFD) >= 0);
    struct fin_step is_short[] = {fin_step_pread(fd, back, 8, 0), fin_step_close(fd)};
    CHECK_EQ(fin_linked(is_short, 2), 0);
    CHECK_EQ(is_short[0].result, 4);
    CHECK_EQ(is_short[1].result, -ECANCELED);
    struct fin_step negative[] = {fin_step_pwrite(fd, "abcd", 4, -1), fin_step_close(fd)};
    CHECK_EQ(fin_linked(negative, 2), 0);
    CHECK_EQ(negative[0].result, -EINVAL);
    CHECK_EQ(fcntl(fd, F_GETFD), 0);
    close(fd);
}

static void bad_counts(void) {
    struct fin_step s[FIN_LINKED_MOST + 1];
    CHECK_EQ(fin_linked(s, 0), -EINVAL);
    CHECK_EQ(fin_linked(s, FIN_LINKED_MOST + 1), -EINVAL);
    int fd = nameless_file();
    for (int i = 0; i < FIN_LINKED_MOST; i++)
        s[i] = fin_step_write(fd, "ab", 2);
    CHECK_EQ(fin_linked(s, FIN_LINKED_MOST), FIN_LINKED_MOST);
    CHECK_EQ(lseek(fd, 0, SEEK_END), 2 * FIN_LINKED_MOST);
    close(fd);
}

// Descriptors that do not block are waited for as elsewhere.
static void waits(int flags) {
    static int pair[2], other[2];
    static char got[4];
    memset(got, 0, sizeof got);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | flags, 0, pair), 0);
    stream_pair(other);
    fin_finish {
        fin_async {
            struct fin_step s[] = {fin_step_recv(pair[0], got, 1, 0), fin_step_send(other[1], "b", 1, 0)};
            CHECK_EQ(fin_linked(s, 2), 2);
            CHECK_EQ(s[0].result, 1);
            CHECK_EQ(s[1].result, 1);
        };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_send(pair[1], "a", 1, 0), 1);
    }
    CHECK_EQ(got[0], 'a');
    CHECK_EQ(recv(other[0], got, 1, MSG_DONTWAIT), 1);
    CHECK_EQ(got[0], 'b');
    for (int i = 0; i < 2; i++) {
        close(pair[i]);
        close(other[i]);
    }
}

// More than the socket has room for: what comes after it waits until all of it is sent.
static void does_not_fit(void) {
    enum { MUCH = 4 << 20 };
    static int pair[2];
    static char sent[MUCH], got[MUCH + 1];
    stream_pair(pair);
    for (int i = 0; i < MUCH; i++)
        sent[i] = (char)(i % 251);
    fin_finish {
        fin_async {
            struct fin_step s[] = {fin_step_send(pair[1], sent, MUCH, 0), fin_step_send(pair[1], "x", 1, 0)};
            CHECK_EQ(fin_linked(s, 2), 2);
            CHECK_EQ(s[0].result, MUCH);
            CHECK_EQ(s[1].result, 1);
        };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_recv_all(pair[0], got, sizeof got, 0, NULL), 0);
    }
    CHECK(memcmp(sent, got, MUCH) == 0 && got[MUCH] == 'x');
    close(pair[0]);
    close(pair[1]);
}

// What was closed is gone for the steps that follow: they do not write to what nobody can read any more.
static void closed_before(void) {
    int pipes[2];
    char c = 0;
    CHECK_EQ(pipe(pipes), 0);
    struct fin_step reader[] = {fin_step_write(pipes[1], "a", 1), fin_step_close(pipes[0]), fin_step_write(pipes[1], "b", 1),
                                fin_step_close(pipes[1])};
    CHECK_EQ(fin_linked(reader, 4), 2);
    CHECK_EQ(reader[2].result, -EPIPE);
    CHECK_EQ(reader[3].result, -ECANCELED);
    close(pipes[1]);
    CHECK_EQ(pipe(pipes), 0);
    struct fin_step writer[] = {fin_step_close(pipes[1]), fin_step_read(pipes[0], &c, 1)};
    CHECK_EQ(fin_linked(writer, 2), 1);
    CHECK_EQ(writer[1].result, 0);
    struct fin_step twice[] = {fin_step_close(pipes[0]), fin_step_close(pipes[0]), fin_step_close(-1)};
    CHECK_EQ(fin_linked(twice, 3), 1);
    CHECK_EQ(twice[1].result, -EBADF);
    CHECK_EQ(twice[2].result, -ECANCELED);
    stream_pair(pipes);
    struct fin_step all[] = {fin_step_send(pipes[1], "abc", 3, 0), fin_step_close(pipes[1]),
                             fin_step_recv(pipes[0], &c, 1, 0), fin_step_recv(pipes[0], &c, 1, 0), fin_step_close(pipes[0])};
    CHECK_EQ(fin_linked(all, 5), 5);
    CHECK_EQ(c, 'b');
}

// A cancel meets what follows a close.
static void cancelled_after_close(void) {
    static int pair[2], other[2], n;
    static char c;
    static struct fin_step s[3];
    stream_pair(pair);
    stream_pair(other);
    s[0] = fin_step_close(other[0]);
    s[1] = fin_step_recv(pair[0], &c, 1, 0);
    s[2] = fin_step_close(pair[0]);
    fin_finish {
        fin_async { n = fin_linked(s, 3); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel();
    }
    CHECK_EQ(n, 1);
    CHECK_EQ(s[1].result, -ECANCELED);
    CHECK_EQ(s[2].result, -ECANCELED);
    CHECK_EQ(write(pair[1], "x", 1), 1);
    CHECK_EQ(recv(pair[0], &c, 1, MSG_DONTWAIT), 1);
    close(pair[0]);
    close(pair[1]);
    close(other[1]);
}

// Cancelled in the first step, in a later one, or before any went down.
static void cancelled(int done, int pause) {
    static int pair[2], n;
    static struct fin_step s[3];
    static char c[3];
    stream_pair(pair);
    CHECK_EQ(write(pair[1], "abc", (size_t)done), done);
    s[0] = fin_step_recv(pair[0], c, 1, 0);
    s[1] = fin_step_recv(pair[0], c + 1, 1, 0);
    s[2] = fin_step_recv(pair[0], c + 2, 1, 0);
    fin_finish {
        fin_async { n = fin_linked(s, 3); };
        if (pause)
            CHECK_EQ(fin_sleep((uint64_t)pause), 0);
        fin_cancel();
    }
    int good = n < 0 ? 0 : n;
    CHECK(good <= done);
    CHECK(pause < 1000 || good == done);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(s[i].result, i < good ? 1 : -ECANCELED);
    CHECK_EQ(good < done ? recv(pair[0], c, 3, MSG_DONTWAIT) : 0, done - good);
    close(pair[0]);
    close(pair[1]);
}

int main(void) {
    in_order();
    one_call();
    broken();
    bad_counts();
    waits(0);
    waits(SOCK_NONBLOCK);
    does_not_fit();
    signal(SIGPIPE, SIG_IGN);
    closed_before();
    cancelled_after_close();
    for (int done = 0; done < 3; done++) {
        cancelled(done, 0);
        cancelled(done, 1);
        cancelled(done, (int)(5 * FIN_MS));
    }
    return 0;
}
