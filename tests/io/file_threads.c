// SPDX-License-Identifier: BSD-2-Clause
// An operation on a file that takes long does not hold the thread: an open that waits for a lease, while the thread goes on;
// and many at a time, more than the pool has threads.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "net.h"

enum { MANY = 100, EACH = 20000 };

static char path[] = "/tmp/fin-threads-XXXXXX";
static char out[EACH], in[MANY][EACH];
static int file;

static void leased(void) {
    fin_shared int opened = 0, turns = 0;
    signal(SIGIO, SIG_IGN);
    if (fcntl(file, F_SETLEASE, F_WRLCK) != 0)
        return; // no leases on the files here
    fin_finish {
        fin_async { opened = fin_open(path, O_RDONLY, 0); };
        for (; turns < 10; turns++)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(opened, 0);
        fcntl(file, F_SETLEASE, F_UNLCK);
    }
    CHECK(opened > 0);
    CHECK_EQ(turns, 10);
    CHECK_EQ(fin_close(opened), 0);
}

static void write_and_read(void *number) {
    char name[64];
    int n = (int)(intptr_t)number;
    struct statx s;
    snprintf(name, sizeof name, "%s.%d", path, n);
    int fd = fin_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    CHECK(fd >= 0);
    CHECK_EQ(fin_write_all(fd, out, EACH, NULL), 0);
    CHECK_EQ(fin_fdatasync(fd), 0);
    CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0); // out of the page cache
    CHECK_EQ(fin_pread(fd, in[n], EACH, 0), EACH);
    CHECK(memcmp(in[n], out, EACH) == 0);
    CHECK_EQ(fin_pread(fd, in[n], EACH, EACH - 5), 5);
    CHECK_EQ(fin_statx(AT_FDCWD, name, 0, STATX_SIZE, &s), 0);
    CHECK_EQ(s.stx_size, EACH);
    CHECK_EQ(fin_close(fd), 0);
    CHECK_EQ(fin_unlink(name), 0);
}

static void many(void) {
    CHECK(fin_offload_threads(4) > 0);
    fin_finish {
        for (intptr_t i = 0; i < MANY; i++)
            fin_async_call(write_and_read, (void *)i);
    }
}

// Past the page cache, where the file system can.
static void direct(void) {
    static char blocks[8192] __attribute__((aligned(4096)));
    int fd = fin_open(path, O_RDWR | O_DIRECT, 0);
    if (fd < 0)
        return;
    memset(blocks, 'd', sizeof blocks);
    CHECK_EQ(fin_pwrite(fd, blocks, sizeof blocks, 0), sizeof blocks);
    memset(blocks, 0, sizeof blocks);
    CHECK_EQ(fin_pread(fd, blocks, sizeof blocks, 0), sizeof blocks);
    CHECK(blocks[0] == 'd' && blocks[8191] == 'd');
    CHECK_EQ(fin_pread(fd, blocks, sizeof blocks, 4096), 4096);
    CHECK_EQ(fin_close(fd), 0);
}

int main(void) {
    file = mkstemp(path);
    CHECK(file >= 0);
    for (int i = 0; i < EACH; i++)
        out[i] = (char)(i * 7 + i / 256);
    leased();
    many();
    direct();
    unlink(path);
    return 0;
}
