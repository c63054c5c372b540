// SPDX-License-Identifier: BSD-2-Clause
// Checksums of a tree of files, with a given number of files in flight (the paper's disk workload, ac 5.3, bounds its
// requests in the same way). Beside it the same with plain blocking calls.
//
// sum_file is what one would write anyway, open, read, close; sum_tree puts an async around it and a semaphore in front of
// it. The total does not depend on the order in which files end, and must be the same in every pass.
//
//   checksum [directory] [--short]          default: /usr/include
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <fin.h>

#include "example.h"

enum { BLOCK = 64 * 1024, MOST_IN_FLIGHT = 64, ROUNDS = 3 };

struct tree {
    char **paths;
    size_t count, capacity;
};

struct total {
    uint64_t sum, bytes, files, unreadable;
};

// Of a block whose size is a multiple of 8, except for the last of a file: FNV-1a in steps of eight bytes.
static uint64_t hash_block(uint64_t hash, const unsigned char *p, size_t n) {
    uint64_t word;
    for (; n >= sizeof word; n -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        hash = (hash ^ word) * 0x100000001b3;
        hash ^= hash >> 32;
    }
    for (; n; n--)
        hash = (hash ^ *p++) * 0x100000001b3;
    return hash;
}

static void add_file(struct total *t, int error, uint64_t hash, uint64_t bytes) {
    t->files++;
    t->unreadable += error != 0;
    t->sum += hash;
    t->bytes += bytes;
}

// ---- with Fin

static FIN_BLOCKING void sum_file(const char *path, unsigned char *buffer, struct total *t) {
    uint64_t hash = 0xcbf29ce484222325, bytes = 0;
    ssize_t n = -1;
    int fd = fin_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0) {
        do {
            size_t have = 0;
            while (have < BLOCK && (n = fin_read(fd, buffer + have, BLOCK - have)) > 0)
                have += (size_t)n;
            hash = hash_block(hash, buffer, have);
            bytes += have;
        } while (n > 0);
        fin_close(fd);
    }
    add_file(t, n < 0, hash, bytes);
}

static unsigned char *buffers[MOST_IN_FLIGHT];

static FIN_BLOCKING struct total sum_tree(const struct tree *tree, int in_flight) {
    struct total total = {0};
    struct fin_sem slots = FIN_SEM_INIT(in_flight);
    struct total *t = &total;
    struct fin_sem *free_slots = &slots;
    fin_shared int taken = 0;
    fin_finish {
        for (size_t i = 0; i < tree->count; i++) {
            fin_sem_wait_nc(free_slots);
            fin_async {
                unsigned char *buffer = buffers[taken++]; // whatever buffer is free
                sum_file(tree->paths[i], buffer, t);
                buffers[--taken] = buffer;
                fin_sem_post(free_slots);
            };
            show_progress("reading", i, tree->count);
        }
    }
    return total;
}

// ---- the same without

static void sum_file_blocking(const char *path, unsigned char *buffer, struct total *t) {
    uint64_t hash = 0xcbf29ce484222325, bytes = 0;
    ssize_t n = -1;
    int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0) {
        do {
            size_t have = 0;
            while (have < BLOCK && (n = read(fd, buffer + have, BLOCK - have)) > 0)
                have += (size_t)n;
            hash = hash_block(hash, buffer, have);
            bytes += have;
        } while (n > 0);
        close(fd);
    }
    add_file(t, n < 0, hash, bytes);
}

static struct total sum_tree_blocking(const struct tree *tree) {
    struct total total = {0};
    for (size_t i = 0; i < tree->count; i++) {
        sum_file_blocking(tree->paths[i], buffers[0], &total);
        show_progress("reading", i, tree->count);
    }
    return total;
}

// ---- the list of files: regular ones only, links are not followed

static char *join(const char *directory, const char *name) {
    char *path;
    EXPECT(asprintf(&path, "%s/%s", directory, name) > 0);
    return path;
}

static void add_path(struct tree *tree, char *path) {
    if (tree->count == tree->capacity) {
        tree->capacity = tree->capacity ? tree->capacity * 2 : 1024;
        tree->paths = realloc(tree->paths, tree->capacity * sizeof *tree->paths);
        EXPECT(tree->paths != NULL);
    }
    tree->paths[tree->count++] = path;
}

static void list_files(struct tree *tree, const char *directory) {
    DIR *d = opendir(directory);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        struct stat st;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        char *path = join(directory, e->d_name);
        if (S_ISREG(st.st_mode)) {
            add_path(tree, path);
            continue;
        }
        if (S_ISDIR(st.st_mode))
            list_files(tree, path);
        free(path);
    }
    closedir(d);
}

// Asks the system to forget the files' contents, so that the next pass reads them from the disk.
static void forget(const struct tree *tree) {
    for (size_t i = 0; i < tree->count; i++) {
        int fd = open(tree->paths[i], O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
            close(fd);
        }
    }
}

// ---- the measurement

// A way to read the tree. in_flight 0: blocking calls.
struct way {
    const char *name;
    int in_flight;
    double seconds[ROUNDS], cpu[ROUNDS];
};

static double seconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static FIN_BLOCKING void read_once(const struct tree *tree, struct way *w, int round, const struct total *expected) {
    double began = seconds_of(CLOCK_MONOTONIC), cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    struct total total = w->in_flight ? sum_tree(tree, w->in_flight) : sum_tree_blocking(tree);
    w->seconds[round] = seconds_of(CLOCK_MONOTONIC) - began;
    w->cpu[round] = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    EXPECT(total.files == tree->count && total.sum == expected->sum && total.bytes == expected->bytes);
    EXPECT(total.unreadable == expected->unreadable);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

// All ways in turn, `rounds` times: what else happens on the machine meets them alike.
static FIN_BLOCKING void compare(const struct tree *tree, const char *what, bool cached, int rounds,
                                 const struct total *expected) {
    struct way ways[] = {{.name = "open, read, close"},
                         {.name = "Fin,  1 in flight", .in_flight = 1},
                         {.name = "Fin,  8 in flight", .in_flight = 8},
                         {.name = "Fin, 64 in flight", .in_flight = 64}};
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            if (!cached)
                forget(tree);
            read_once(tree, &ways[i], round, expected);
        }
    }
    show_progress("reading", 1, 1);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        double s = median(ways[i].seconds, rounds);
        printf("  %-26s %-20s %9.0f files/s %8.0f MB/s %8.2f s CPU\n", i ? "" : what, ways[i].name, (double)tree->count / s,
               (double)expected->bytes / 1e6 / s, median(ways[i].cpu, rounds));
    }
}

FIN_BLOCKING int main(int argc, char **argv) {
    bool brief = has_option(argc, argv, "--short");
    bool named = argc > 1 && argv[1][0] != '-';
    const char *root = named ? argv[1] : "/usr/include";
    only_options(argc, argv, 1 + named, OPTIONS("--short"));
    struct tree tree = {0};
    list_files(&tree, root);
    if (tree.count == 0) {
        fprintf(stderr, "checksum: no files in %s\n", root);
        return 1;
    }
    for (int i = 0; i < MOST_IN_FLIGHT; i++) {
        buffers[i] = malloc(BLOCK);
        EXPECT(buffers[i] != NULL);
    }
    if (brief && tree.count > 300)
        tree.count = 300;

    // The first pass, which brings the files into the page cache, is the reference for all others.
    struct total expected = sum_tree_blocking(&tree);
    printf("%s: %zu files, %.0f MB, sum %016llx, the same in every pass\n", root, tree.count, (double)expected.bytes / 1e6,
           (unsigned long long)expected.sum);
    printf("  I/O through %s\n", fin_io_backend());
    compare(&tree, "cached by the system", true, brief ? 1 : ROUNDS, &expected);
    compare(&tree, "to be read from the disk", false, 1, &expected);
    for (size_t i = 0; i < tree.count; i++)
        free(tree.paths[i]);
    free(tree.paths);
    return 0;
}
