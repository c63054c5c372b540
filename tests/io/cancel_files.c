// SPDX-License-Identifier: BSD-2-Clause
// Operations on files and their names raced against cancellation: one that says that it was cancelled has changed nothing
// and written nothing, one that says anything else has done it. (race.h)
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <fin/fixed.h>

#include "race.h"

enum { PIECE = 64 };

static char path[] = "/tmp/fin-race-XXXXXX";
static int dir, file, other, ends[2]; // of a pipe
static char now[PIECE], before[PIECE];
static struct fin_memory *memory;
static void *page;
static int to_disk = RWF_DSYNC; // 0 where the system knows no flags of writes, as qemu-user

static void open_all(void) {
    strcpy(strchr(path, '\0') - 6, "XXXXXX");
    CHECK(mkdtemp(path) != NULL);
    dir = open(path, O_DIRECTORY | O_CLOEXEC);
    file = openat(dir, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    other = openat(dir, "o", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(dir >= 0 && file >= 0 && other >= 0);
    memset(before, 'x', sizeof before);
    CHECK_EQ(pwrite(file, before, sizeof before, 0), sizeof before);
    struct iovec one = {before, 1};
    if (pwritev2(file, &one, 1, 0, RWF_DSYNC) < 0)
        to_disk = 0;
    CHECK_EQ(symlinkat("f", dir, "symlink"), 0);
    CHECK_EQ(mkfifoat(dir, "fifo", 0600), 0);
    CHECK_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    CHECK_EQ(fin_memory_register(&memory, now, sizeof now), 0);
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(page != MAP_FAILED);
}

static void close_all(void) {
    static const char *const names[] = {"f", "o", "symlink", "fifo"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        CHECK_EQ(unlinkat(dir, names[i], 0), 0);
    CHECK_EQ(rmdir(path), 0); // nothing else is there
    const int all[] = {dir, file, other, ends[0], ends[1]};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        close(all[i]);
    CHECK_EQ(fin_memory_unregister(memory), 0);
    munmap(page, 4096);
}

static struct stat status(void) {
    struct stat s;
    CHECK_EQ(fstat(file, &s), 0);
    return s;
}

static bool there(const char *name) { return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0; }
static off_t position(int fd) { return lseek(fd, 0, SEEK_CUR); }

// What it changes. `undo` may have nothing to do.
#define CHANGES(name, expected, call, happened, undo)                                                                       \
    static void do_##name(void) {                                                                                           \
        long n = call;                                                                                                      \
        CHECK_EQ(happened, outcome(n));                                                                                     \
        CHECK(n == (expected) || n == -ECANCELED);                                                                          \
        (void)!undo;                                                                                                        \
    }

static const struct timespec times[] = {{.tv_sec = 1000}, {.tv_sec = 1000}}, older[] = {{.tv_sec = 500}, {.tv_sec = 500}};

CHANGES(mkdirat, 0, fin_mkdirat(dir, "d", 0700), there("d"), unlinkat(dir, "d", AT_REMOVEDIR))
CHANGES(rmdir, 0, (mkdirat(dir, "d", 0700), fin_unlinkat(dir, "d", AT_REMOVEDIR)), !there("d"),
        unlinkat(dir, "d", AT_REMOVEDIR))
CHANGES(unlinkat, 0, (linkat(dir, "f", dir, "u", 0), fin_unlinkat(dir, "u", 0)), !there("u"), unlinkat(dir, "u", 0))
CHANGES(symlinkat, 0, fin_symlinkat("f", dir, "s"), there("s"), unlinkat(dir, "s", 0))
CHANGES(linkat, 0, fin_linkat(dir, "f", dir, "l", 0), there("l"), unlinkat(dir, "l", 0))
CHANGES(renameat2, 0, fin_renameat2(dir, "f", dir, "g", 0), there("g") && !there("f"), renameat(dir, "g", dir, "f"))
CHANGES(mknodat, 0, fin_mknodat(dir, "p", S_IFIFO | 0600, 0), there("p"), unlinkat(dir, "p", 0))
CHANGES(fchmodat, 0, fin_fchmodat(dir, "f", 0640, 0), (status().st_mode & 0777) == 0640, fchmod(file, 0600))
CHANGES(fchownat, 0, (fchmod(file, 04600), fin_fchownat(dir, "f", getuid(), getgid(), 0)), !(status().st_mode & S_ISUID),
        fchmod(file, 0600)) // whoever it belongs to then
CHANGES(utimensat, 0, fin_utimensat(dir, "f", times, 0), status().st_mtime == 1000, futimens(file, older))
CHANGES(ftruncate, 0, fin_ftruncate(file, 100), status().st_size == 100, ftruncate(file, PIECE))
CHANGES(fallocate, 0, fin_fallocate(file, 0, 0, 8192), status().st_size == 8192, ftruncate(file, PIECE))
CHANGES(read, 1, fin_read(file, now, 1), position(file) == 1, lseek(file, 0, SEEK_SET))
CHANGES(write, 1, fin_write(file, before, 1), position(file) == 1, lseek(file, 0, SEEK_SET))
CHANGES(copy, PIECE, fin_copy_file_range(file, &(off_t){0}, other, NULL, PIECE, 0), position(other) == PIECE,
        (lseek(other, 0, SEEK_SET), ftruncate(other, 0)))
CHANGES(sendfile, PIECE, fin_sendfile(ends[1], file, &(off_t){0}, PIECE), read(ends[0], now, PIECE) == PIECE, 0)
CHANGES(fsetxattr, 0, fin_fsetxattr(file, "user.a", "1", 1, 0), fgetxattr(file, "user.a", NULL, 0) == 1,
        fremovexattr(file, "user.a"))
CHANGES(fremovexattr, 0, (fsetxattr(file, "user.a", "1", 1, 0), fin_fremovexattr(file, "user.a")),
        fgetxattr(file, "user.a", NULL, 0) < 0, fremovexattr(file, "user.a"))

// What it tells.
static char told[4096] __attribute__((aligned(64)));

static bool untouched(void) {
    for (int i = 0; i < 256; i++)
        if (told[i] != 0x55)
            return false;
    return true;
}

#define TELLS(name, call)                                                                                                   \
    static void do_##name(void) {                                                                                           \
        memset(told, 0x55, 256);                                                                                            \
        long n = call;                                                                                                      \
        CHECK_EQ(untouched(), !outcome(n));                                                                                 \
        CHECK(n >= 0 || n == -ECANCELED);                                                                                   \
    }

TELLS(statx, fin_statx(dir, "f", 0, STATX_BASIC_STATS, (struct statx *)told))
TELLS(statfs, fin_statfs(path, (struct statfs *)told))
TELLS(fstatfs, fin_fstatfs(file, (struct statfs *)told))
TELLS(readlinkat, fin_readlinkat(dir, "symlink", told, sizeof told))
TELLS(getdents64, (lseek(dir, 0, SEEK_SET), fin_getdents64(dir, told, sizeof told)))
TELLS(preadv, fin_preadv(file, (struct iovec[2]){{told, 5}, {told + 5, PIECE - 5}}, 2, 0))
TELLS(preadv2, fin_preadv2(file, &(struct iovec){told, PIECE}, 1, 0, 0))
TELLS(fgetxattr, (fsetxattr(file, "user.b", "1", 1, 0), fin_fgetxattr(file, "user.b", told, sizeof told)))
TELLS(flistxattr, (fsetxattr(file, "user.b", "1", 1, 0), fin_flistxattr(file, told, sizeof told)))

// What only says that it was done.
#define SAYS(name, call)                                                                                                    \
    static void do_##name(void) {                                                                                           \
        int n = call;                                                                                                       \
        CHECK(!outcome(n) || n == 0);                                                                                       \
    }

SAYS(fsync, fin_fsync(file))
SAYS(fdatasync, fin_fdatasync(file))
SAYS(syncfs, fin_syncfs(ends[0])) // of pipes: nothing has to be written
SAYS(sync_file_range, fin_sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE))
SAYS(fadvise, fin_fadvise(file, 0, 0, POSIX_FADV_RANDOM))
SAYS(madvise, fin_madvise(page, 4096, MADV_RANDOM))
SAYS(msync, fin_msync(page, 4096, MS_ASYNC))
SAYS(faccessat, fin_faccessat(dir, "f", R_OK, 0))

// What is in the file is what was written last.
static void wrote(ssize_t n) {
    if (outcome(n)) {
        CHECK_EQ(n, PIECE);
        memcpy(before, now, PIECE);
    }
    CHECK_EQ(pread(file, now, PIECE, 0), PIECE);
    CHECK(memcmp(before, now, PIECE) == 0);
}

static void new_contents(void) { memset(now, (int)next_random(&seed), sizeof now); }

#define WRITES(name, call)                                                                                                  \
    static void do_##name(void) {                                                                                           \
        new_contents();                                                                                                     \
        wrote(call);                                                                                                        \
    }

WRITES(pwrite, fin_pwrite(file, now, PIECE, 0))
WRITES(pwritev, fin_pwritev(file, (struct iovec[2]){{now, 7}, {now + 7, PIECE - 7}}, 2, 0))
WRITES(pwritev2, fin_pwritev2(file, &(struct iovec){now, PIECE}, 1, 0, to_disk))
WRITES(pwrite_fixed, fin_pwrite_fixed(file, memory, now, PIECE, 0))

static void was_read(ssize_t n) {
    if (outcome(n))
        CHECK(n == PIECE && memcmp(now, before, PIECE) == 0);
    else
        CHECK_EQ(now[0], 0);
}

static void do_pread(void) {
    memset(now, 0, sizeof now);
    was_read(fin_pread(file, now, PIECE, 0));
}

static void do_pread_fixed(void) {
    memset(now, 0, sizeof now);
    was_read(fin_pread_fixed(file, memory, now, PIECE, 0));
}

// Descriptors, which are counted in the end.

static void opened(int n) {
    CHECK_EQ(there("c"), outcome(n));
    if (n >= 0) {
        CHECK_EQ(close(n), 0);
        CHECK_EQ(unlinkat(dir, "c", 0), 0);
    }
}

static void do_openat(void) { opened(fin_openat(dir, "c", O_CREAT | O_RDWR | O_CLOEXEC, 0600)); }

static void do_openat2(void) {
    struct open_how how = {.flags = O_CREAT | O_RDWR | O_CLOEXEC, .mode = 0600};
    int n = fin_openat2(dir, "c", &how, sizeof how);
    if (n == -ENOSYS) // in qemu-user: the race is that of openat
        n = fin_openat(dir, "c", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    opened(n);
}

static int writer = -1;

static void open_writer(void) {
    if (next_random(&seed) % 2)
        writer = openat(dir, "fifo", O_WRONLY | O_NONBLOCK | O_CLOEXEC); // refused where nobody waits for it
}

static void do_open_fifo(void) {
    int n = fin_openat(dir, "fifo", O_RDONLY | O_CLOEXEC, 0);
    if (outcome(n)) {
        CHECK(n >= 0);
        close(n);
    }
}

static void close_writer(void) {
    if (writer >= 0)
        close(writer);
    writer = -1;
}

static void do_close(void) {
    int copy = dup(file);
    int n = fin_close(copy);
    CHECK_EQ(fcntl(copy, F_GETFD) < 0, outcome(n));
    if (n != 0)
        close(copy);
}

#define ROW(name) {#name, open_all, nothing, do_##name, nothing, close_all, 1}
static const struct race races[] = {
    ROW(mkdirat),   ROW(rmdir),   ROW(unlinkat), ROW(symlinkat), ROW(linkat),       ROW(renameat2),
    ROW(mknodat),   ROW(fchmodat), ROW(utimensat), ROW(ftruncate), ROW(fallocate),  ROW(read),
    ROW(write),     ROW(copy),    ROW(sendfile), ROW(statx),     ROW(statfs),       ROW(fstatfs),
    ROW(readlinkat), ROW(getdents64), ROW(preadv), ROW(preadv2), ROW(fsync),        ROW(fdatasync),
    ROW(sync_file_range), ROW(fadvise), ROW(madvise), ROW(msync), ROW(faccessat),   ROW(pwrite),
    ROW(pwritev),   ROW(pwritev2), ROW(pwrite_fixed), ROW(pread), ROW(pread_fixed), ROW(openat),
    ROW(openat2),   ROW(close),   ROW(fchownat), ROW(syncfs),
    {"open of a FIFO", open_all, open_writer, do_open_fifo, close_writer, close_all, 8},
    // last: where the file system has them
    ROW(fsetxattr), ROW(fremovexattr), ROW(fgetxattr), ROW(flistxattr),
};
enum { RACES = sizeof races / sizeof *races, ATTRIBUTES = 4 };

static bool has_attributes(void) {
    open_all();
    bool has = fsetxattr(file, "user.a", "1", 1, 0) == 0;
    close_all();
    return has;
}

int main(int argc, char **argv) {
    race_all(races, has_attributes() ? RACES : RACES - ATTRIBUTES, argc > 1 ? argv[1] : NULL);
    return 0;
}
