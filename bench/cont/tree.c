// SPDX-License-Identifier: BSD-2-Clause
// A tree of files as they are on this machine, summed as examples/checksum.c does, from the disk and 64 at a time, but
// without stacks: neither those who read nor the one who waits for a free place. Reads at the file's own position would have
// stacks (fin/on.h).
#define _GNU_SOURCE
#include "workloads.h"

#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <unistd.h>

#include <fin.h>

#include "rows.h"

enum { FILES = 4000, IN_FLIGHT = 64, BLOCK = 64 * 1024, DESCRIPTORS = 16 };

static char *paths[FILES];
static int found, begun;

struct reader {
    struct fin_on on;
    struct reader *next; // free, too
    const char *path;
    int fd;
    off_t at;
    unsigned char block[BLOCK];
};

static struct reader *spare;
static struct fin_sem places = FIN_SEM_INIT(IN_FLIGHT);
static struct fin_sync_on waits;
static uint64_t sum, bytes;
static long unreadable;

static void done(struct reader *r, int error) {
    unreadable += error != 0;
    if (r->fd >= 0)
        close(r->fd);
    r->next = spare;
    spare = r;
    fin_sem_post(&places);
    fin_cont_end();
}

static void has_read(void *state, int n) {
    struct reader *r = *(struct reader **)state;
    if (n <= 0)
        done(r, n);
    for (int i = 0; i < n; i++)
        sum += r->block[i];
    bytes += (uint64_t)n;
    r->at += n;
    fin_pread_on(&r->on, r->fd, r->block, sizeof r->block, r->at, has_read, &r, sizeof r);
}

static void opened(void *state, int fd) {
    struct reader *r = *(struct reader **)state;
    r->fd = fd;
    if (fd < 0)
        done(r, fd);
    r->at = 0;
    fin_pread_on(&r->on, fd, r->block, sizeof r->block, 0, has_read, &r, sizeof r);
}

static void begin_file(void *state, int result) {
    struct reader *r = *(struct reader **)state;
    (void)result;
    fin_openat_on(&r->on, AT_FDCWD, r->path, O_RDONLY | O_CLOEXEC, 0, opened, &r, sizeof r);
}

static void has_place(void *state, int result) {
    struct reader *r = spare;
    bench_did(result, "fin_sem_wait_on", __FILE__, __LINE__);
    spare = r->next;
    r->path = paths[begun++];
    BENCH_MUST(fin_async_cont_beside(begin_file, &r, sizeof r) != NULL);
    if (begun == found)
        fin_cont_end();
    fin_sem_wait_on(&places, &waits, has_place, state, 0);
}

static void begin_tree(void *state, int result) {
    (void)result;
    fin_sem_wait_on(&places, &waits, has_place, state, 0);
}

static int add(const char *path, const struct stat *st, int kind, struct FTW *where) {
    (void)st;
    (void)where;
    if (kind == FTW_F && found < few(FILES))
        BENCH_GOT(paths[found++] = strdup(path));
    return found == few(FILES);
}

// The next who asks for them reads them from the disk.
static void forget(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
    }
}

void file_tree(void *unused) {
    static const char *const roots[] = {"/usr/include", "/usr/share", "/usr/lib"};
    struct reader *readers;
    (void)unused;
    BENCH_GOT(readers = calloc(IN_FLIGHT, sizeof *readers));
    for (size_t i = 0; i < BENCH_COUNT(roots); i++)
        nftw(roots[i], add, DESCRIPTORS, FTW_PHYS);
    BENCH_MUST(found > 0);
    for (int i = 0; i < found; i++)
        forget(paths[i]);
    for (int i = 0; i < IN_FLIGHT; i++) {
        readers[i].next = spare;
        spare = &readers[i];
    }
    fin_finish {
        BENCH_MUST(fin_async_cont(begin_tree, NULL, 0) != NULL);
    }
    BENCH_MUST(unreadable < found);
    printf("\nFile tree: %d files, %.0f MB, %ld unreadable, sum %llu\n", found, (double)bytes / 1e6, unreadable,
           (unsigned long long)sum);
    for (int i = 0; i < found; i++)
        free(paths[i]);
    free(readers);
}
