// SPDX-License-Identifier: BSD-2-Clause
// Vectors, fsync, fdatasync and statx with a continuation, of files and of pipes: results, errors, and in a cancelled block.
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "on_call.h"

static int fd, in, out;
static char a[4], b[8], first[] = "abc", second[] = "defgh";
static struct iovec to[] = {{first, 3}, {second, 5}}, from[] = {{a, 3}, {b, 8}};
static struct statx about;

CALL(writes, fin_writev_on(&on, out, to, 2, REST))
CALL(reads, fin_readv_on(&on, in, from, 2, REST))
CALL(reads_nothing, fin_readv_on(&on, in, from, 0, REST))
CALL(reads_too_many, fin_readv_on(&on, in, from, IOV_MAX + 1, REST))
CALL(writes_less_than_none, fin_writev_on(&on, out, to, -1, REST))
CALL(syncs, fin_fsync_on(&on, fd, REST))
CALL(syncs_data, fin_fdatasync_on(&on, fd, REST))
CALL(asks, fin_statx_on(&on, fd, "", AT_EMPTY_PATH, STATX_SIZE, &about, REST))
CALL(asks_null, fin_statx_on(&on, fd, NULL, AT_EMPTY_PATH, STATX_SIZE, &about, REST))
CALL(asks_nobody, fin_statx_on(&on, AT_FDCWD, "no such file", 0, STATX_SIZE, &about, REST))

static void check_read(void) {
    memset(b, 0, sizeof b);
    CHECK_EQ(run(reads), 8);
    CHECK(memcmp(a, "abc", 3) == 0 && memcmp(b, "defgh", 6) == 0);
}

static void a_file(void) {
    in = out = fd = nameless_file();
    CHECK_EQ(run(writes), 8);
    CHECK_EQ(run(syncs), 0);
    CHECK_EQ(run(syncs_data), 0);
    CHECK_EQ(run(asks), 0);
    CHECK_EQ(run(asks_null), 0);
    CHECK_EQ(about.stx_size, 8);
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    check_read();
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 8);
    CHECK_EQ(run(reads), 0);
    CHECK_EQ(run(asks_nobody), -ENOENT);
    close(fd);
    in = out = fd = -1;
    CHECK_EQ(run(writes), -EBADF);
    CHECK_EQ(run(reads), -EBADF);
    CHECK_EQ(run(syncs), -EBADF);
}

static void write_it(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    CHECK_EQ(fin_writev(out, to, 2), 8);
}

// Empty: the read waits, unless it is of nothing.
static void a_pipe(void) {
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    in = ends[0];
    fd = out = ends[1];
    CHECK_EQ(run(reads_nothing), 0);
    fin_finish {
        fin_async_call(write_it, NULL);
        check_read();
    }
    CHECK_EQ(run(syncs), -EINVAL);
    CHECK_EQ(run(reads_too_many), -EINVAL);
    CHECK_EQ(run(writes_less_than_none), -EINVAL);
}

static void cancelled(void) {
    fin_cont *all[] = {writes, reads, reads_too_many, syncs, asks};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        result = -EINPROGRESS;
        fin_finish {
            CHECK(fin_async_cont(all[i], NULL, 0) != NULL);
            fin_cancel();
        }
        CHECK_EQ(result, -ECANCELED);
    }
    CHECK_EQ(poll(&(struct pollfd){.fd = in, .events = POLLIN}, 1, 0), 0); // nothing was written
}

int main(void) {
    a_file();
    a_pipe();
    cancelled();
    close(in);
    close(out);
    return 0;
}
