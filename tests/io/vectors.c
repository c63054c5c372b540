// SPDX-License-Identifier: BSD-2-Clause
// Several buffers in one call: on files, pipes and sockets, at positions and at the file's own; flags; what is too many.
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/uio.h>

#include "net.h"

static char a[4], b[3000], c[2];
static const struct iovec to[] = {{a, sizeof a}, {NULL, 0}, {b, sizeof b}, {c, sizeof c}};
enum { TOTAL = sizeof a + sizeof b + sizeof c };

static void fill(void) {
    memset(a, 'a', sizeof a);
    memset(b, 'b', sizeof b);
    memset(c, 'c', sizeof c);
}

static void check_and_clear(void) {
    CHECK(a[0] == 'a' && a[3] == 'a' && b[0] == 'b' && b[sizeof b - 1] == 'b' && c[0] == 'c' && c[1] == 'c');
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    memset(c, 0, sizeof c);
}

static void on_file(void) {
    int fd = nameless_file();
    fill();
    CHECK_EQ(fin_pwritev(fd, to, 4, 100), TOTAL);
    CHECK_EQ(fin_preadv(fd, to, 4, 100), TOTAL);
    check_and_clear();
    CHECK_EQ(fin_readv(fd, to, 1), 4); // the file's position is still its start
    CHECK_EQ(a[0], 0);
    fill();
    CHECK_EQ(fin_writev(fd, to, 4), TOTAL);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 4 + TOTAL);
    CHECK_EQ(fin_pwritev2(fd, to, 4, 10, RWF_DSYNC), TOTAL);
    CHECK_EQ(fin_pwritev2_nc(fd, to, 4, 0, RWF_APPEND), TOTAL);
    CHECK_EQ(lseek(fd, 0, SEEK_END), 2 * TOTAL + 100);
    CHECK_EQ(fin_preadv2(fd, to, 4, TOTAL + 100, RWF_HIPRI), TOTAL);
    check_and_clear();
    CHECK_EQ(lseek(fd, TOTAL + 100, SEEK_SET), TOTAL + 100);
    CHECK_EQ(fin_preadv2(fd, to, 4, -1, 0), TOTAL);
    check_and_clear();
    CHECK_EQ(fin_preadv2(fd, to, 4, -1, 0), 0); // the end
    CHECK_EQ(fin_preadv(fd, to, 4, 2 * TOTAL + 98), 2);
    CHECK_EQ(fin_preadv(fd, to, 4, -1), -EINVAL);
    CHECK_EQ(fin_preadv2(fd, to, 4, -2, 0), -EINVAL);
    CHECK_EQ(fin_pwritev(fd, to, 4, -1), -EINVAL);
    close(fd);
}

static void too_many(int in, int out) {
    static struct iovec many[IOV_MAX + 1];
    char one;
    for (int i = 0; i <= IOV_MAX; i++)
        many[i] = (struct iovec){&one, i == 0};
    CHECK_EQ(fin_readv(in, many, IOV_MAX + 1), -EINVAL);
    CHECK_EQ(fin_writev(out, many, IOV_MAX + 1), -EINVAL);
    CHECK_EQ(fin_preadv(in, many, IOV_MAX + 1, 0), -EINVAL);
    CHECK_EQ(fin_pwritev2(out, many, IOV_MAX + 1, 0, 0), -EINVAL);
    CHECK_EQ(fin_writev(out, many, -1), -EINVAL);
    one = 'x';
    CHECK_EQ(fin_writev(out, many, IOV_MAX), 1);
    CHECK_EQ(fin_readv(in, many, IOV_MAX), 1);
}

static int in;
static void read_all_of_it(void *unused) {
    (void)unused;
    ssize_t n = fin_readv(in, to, 4);
    CHECK_EQ(n, TOTAL);
    check_and_clear();
}

static void on_stream(const int fd[2]) {
    fin_shared ssize_t n = 1;
    in = fd[0];
    CHECK_EQ(fin_preadv2(fd[0], to, 4, -1, RWF_NOWAIT), -EAGAIN);
    fin_finish {
        fin_async_call(read_all_of_it, NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        char all[TOTAL];
        fill();
        memcpy(all, a, sizeof a);
        memcpy(all + sizeof a, b, sizeof b);
        memcpy(all + sizeof a + sizeof b, c, sizeof c);
        CHECK_EQ(write(fd[1], all, TOTAL), TOTAL);
    }
    fill();
    for (size_t sent = 0; sent < TOTAL;) { // short counts are allowed
        struct iovec rest[4] = {{a, sizeof a}, {b, sizeof b}, {c, sizeof c}, {0}};
        size_t skip = sent;
        for (int i = 0; i < 3; i++) {
            size_t part = skip < rest[i].iov_len ? skip : rest[i].iov_len;
            rest[i].iov_base = (char *)rest[i].iov_base + part;
            rest[i].iov_len -= part;
            skip -= part;
        }
        n = fin_writev(fd[1], rest, 4);
        CHECK(n > 0);
        sent += (size_t)n;
    }
    char all[TOTAL];
    CHECK_EQ(fin_read_all(fd[0], all, TOTAL, NULL), 0);
    CHECK(all[0] == 'a' && all[4] == 'b' && all[TOTAL - 1] == 'c');
    fin_finish {
        fin_async { n = fin_readv(fd[0], to, 4); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel();
    }
    CHECK_EQ(n, -ECANCELED);
    too_many(fd[0], fd[1]);
    close(fd[0]);
    close(fd[1]);
}

static void of_nothing(void) {
    struct iovec v = {a, sizeof a};
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(master >= 0);
    CHECK_EQ(fin_readv(master, &v, 0), 0);
    CHECK_EQ(fin_preadv2(master, &v, 0, -1, 0), 0);
    close(master);
}

int main(void) {
    int fd[2];
    on_file();
    of_nothing();
    CHECK_EQ(pipe(fd), 0);
    on_stream(fd);
    stream_pair(fd);
    on_stream(fd);
    return 0;
}
