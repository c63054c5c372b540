// SPDX-License-Identifier: BSD-2-Clause
// Calls at the position of a file that overlap, as with read(2) and write(2): each block is read once and whole, by AWEs of
// one thread and of two, with a stack and without, through a registered number, from the page cache and from the device; all
// that threads write through one descriptor is in the file. One call after the other moves the position, also past the page
// cache, and so do the steps of a chain.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"
#include "process.h"

enum { SIZE = 65536, BLOCKS = 64, READERS = 4, LINE = 64 };

static char path[] = "shared-position-XXXXXX";
static char *block[BLOCKS + 2];
static int fd, number, seen[BLOCKS];

static void open_file(int flags) {
    strcpy(strchr(path, '\0') - 6, "XXXXXX");
    int made = mkstemp(path);
    CHECK(made >= 0);
    close(made);
    fd = open(path, O_RDWR | O_CLOEXEC | flags);
    if (fd < 0)
        unlink(path);
}

static void close_file(void) {
    unlink(path);
    close(fd);
}

static void fill(char *p, int i) { memset(p, '0' + i, SIZE); }

// The first half of each is in the page cache, and the second is not, as far as the system takes the advice.
static void write_blocks(void) {
    for (int i = 0; i < BLOCKS; i++) {
        fill(block[0], i);
        CHECK_EQ(write(fd, block[0], SIZE), SIZE);
        seen[i] = 0;
    }
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    for (int i = 0; i < BLOCKS; i++)
        CHECK_EQ(pread(fd, block[0], SIZE / 2, (off_t)i * SIZE), SIZE / 2);
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
}

static void saw(const char *p, ssize_t n) {
    CHECK_EQ(n, SIZE);
    for (int i = 1; i < SIZE; i++)
        CHECK(p[i] == p[0]);
    __atomic_add_fetch(&seen[p[0] - '0'], 1, __ATOMIC_RELAXED);
}

static void each_once(void) {
    for (int i = 0; i < BLOCKS; i++)
        CHECK_EQ(seen[i], 1);
}

static void reads(void *p) {
    ssize_t n;
    while ((n = fin_read(number, p, SIZE)) != 0)
        saw(p, n);
}

static void reads_vectors(void *p) {
    struct iovec v[] = {{p, SIZE / 2}, {(char *)p + SIZE / 2, SIZE / 2}};
    ssize_t n;
    while ((n = fin_readv(number, v, 2)) != 0)
        saw(p, n);
}

struct reader {
    struct fin_on on;
    char *p;
};

static void has_read(void *state, int n) {
    struct reader *r = *(struct reader **)state;
    if (n == 0)
        fin_cont_end();
    saw(r->p, n);
    fin_read_on(&r->on, number, r->p, SIZE, has_read, &r, sizeof r);
}

static void begins(void *state, int n) {
    struct reader *r = *(struct reader **)state;
    CHECK_EQ(n, 0);
    fin_read_on(&r->on, number, r->p, SIZE, has_read, &r, sizeof r);
}

static void by_awes(void (*fn)(void *), int first) {
    fin_finish {
        for (int i = first; i < first + READERS; i++)
            fin_async_call(fn, block[i]);
    }
}

static void without_stacks(void) {
    static struct reader readers[READERS];
    fin_finish {
        for (int i = 0; i < READERS; i++) {
            struct reader *r = &readers[i];
            r->p = block[i];
            CHECK(fin_async_cont(begins, &r, sizeof r) != NULL);
        }
    }
}

static void by_another(void *unused) {
    (void)unused;
    by_awes(reads, READERS);
}

static void by_threads(void) {
    struct fin_thread_handle other;
    CHECK_EQ(fin_thread_start(&other, by_another, NULL), 0);
    by_awes(reads, 0);
    fin_thread_join_nc(&other);
}

static void stacks(void) { by_awes(reads, 0); }
static void vectors(void) { by_awes(reads_vectors, 0); }

static void all_blocks(int flags) {
    void (*const ways[])(void) = {stacks, vectors, without_stacks, by_threads};
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        open_file(flags);
        if (fd < 0)
            return; // no such flag here
        write_blocks();
        number = fd;
        ways[i]();
        each_once();
        close_file();
    }
    open_file(flags);
    write_blocks();
    number = fin_file_register(fd);
    CHECK(number > 0);
    stacks();
    each_once();
    CHECK_EQ(fin_file_unregister(number), 0);
    close_file();
}

static int lines;

static void writes_lines(void *letter) {
    char line[LINE];
    memset(line, *(char *)letter, LINE - 1);
    line[LINE - 1] = '\n';
    for (int i = 0; i < lines; i++)
        CHECK_EQ(fin_write(fd, line, LINE), LINE);
}

static void all_lines(void) {
    struct fin_thread_handle other;
    char line[LINE], letters[] = "ab";
    int count[2] = {0};
    open_file(0);
    CHECK_EQ(fin_thread_start(&other, writes_lines, &letters[0]), 0);
    writes_lines(&letters[1]);
    fin_thread_join_nc(&other);
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    while (read(fd, line, LINE) == LINE) {
        CHECK(line[0] == line[LINE - 2] && line[LINE - 1] == '\n');
        count[line[0] - 'a']++;
    }
    CHECK_EQ(count[0], lines);
    CHECK_EQ(count[1], lines);
    close_file();
}

static void has_block(int i) {
    CHECK_EQ(pread(fd, block[BLOCKS], SIZE, (off_t)i * SIZE), SIZE);
    CHECK_EQ(block[BLOCKS][0], '0' + i);
}

static void one_after_the_other(int flags) {
    open_file(flags);
    if (fd < 0)
        return;
    for (int i = 0; i < 4; i++) {
        fill(block[i], i);
        CHECK_EQ(fin_write(fd, block[i], SIZE), SIZE);
        CHECK_EQ(lseek(fd, 0, SEEK_CUR), (off_t)(i + 1) * SIZE);
    }
    CHECK_EQ(lseek(fd, SIZE, SEEK_SET), SIZE);
    CHECK_EQ(fin_read(fd, block[BLOCKS], SIZE), SIZE);
    CHECK_EQ(block[BLOCKS][0], '0' + 1);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 2 * SIZE);
    for (int i = 0; i < 4; i++)
        has_block(i);
    close_file();
}

static void chain(int flags) {
    open_file(flags);
    if (fd < 0)
        return;
    fill(block[0], 0);
    fill(block[1], 1);
    fill(block[2], 2);
    struct fin_step steps[] = {fin_step_write(fd, block[0], SIZE), fin_step_pwrite(fd, block[2], SIZE, 2 * SIZE),
                               fin_step_write(fd, block[1], SIZE)};
    CHECK_EQ(fin_linked(steps, 3), 3);
    for (int i = 0; i < 3; i++)
        has_block(i);
    struct fin_step back[] = {fin_step_pread(fd, block[0], SIZE, SIZE), fin_step_read(fd, block[1], SIZE),
                              fin_step_fsync(fd)};
    CHECK_EQ(fin_linked(back, 3), 3);
    CHECK_EQ(block[0][0], '0' + 1);
    CHECK_EQ(block[1][0], '0' + 2);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 3 * SIZE);
    close_file();
}

int main(void) {
    lines = getenv("FIN_FEW") ? 1000 : 10000;
    char *memory = aligned_alloc(4096, (size_t)SIZE * (BLOCKS + 2));
    CHECK(memory != NULL);
    for (int i = 0; i < BLOCKS + 2; i++)
        block[i] = memory + (size_t)SIZE * (size_t)i;
    const int flags[] = {0, O_DIRECT};
    for (int i = 0; i < 2; i++) {
        all_blocks(flags[i]);
        one_after_the_other(flags[i]);
        chain(flags[i]);
    }
    all_lines();
    free(memory);
    return 0;
}
