// SPDX-License-Identifier: BSD-2-Clause
// The disk workload of the paper (ac 5.3, figure 11): random reads from two files striped as RAID0, with a bounded number in
// flight. Beside it the same with calls that block.
//
//   reads [--short]                                     makes two files, and reads them with 1 to 1024 in flight
//   reads FILE FILE [--sync | --explicit | --fixed] [--block 4096] [--depth 1] [--reads 100000] [--direct]
//                                                       one run: reads, seconds, CPU seconds
//   reads --make FILE FILE [--size BYTES]               makes the files
#define _GNU_SOURCE
#include <fin.h>

#include "raid.h"

// ---- with Fin

// As many loops as reads are wanted in flight; each is what one would write anyway.
static FIN_BLOCKING void read_some(struct raid *r, char *buffer) {
    struct place p;
    while (next_read(r, &p)) {
        ssize_t n = fin_pread(p.fd, buffer, r->block, p.offset);
        check_read(r, &p, buffer, n);
    }
}

static FIN_BLOCKING void read_all(struct raid *r, char *buffers, int depth) {
    fin_finish {
        for (int i = 0; i < depth; i++) {
            fin_async { read_some(r, buffers + (size_t)i * r->block); };
        }
    }
}

// ---- with Fin, files and memory registered

static FIN_BLOCKING void read_some_fixed(struct raid *r, struct fin_memory *m, char *buffer) {
    struct place p;
    while (next_read(r, &p)) {
        ssize_t n = fin_pread_fixed(p.fd, m, buffer, r->block, p.offset);
        check_read(r, &p, buffer, n);
    }
}

// Registered numbers stand for the files meanwhile.
static FIN_BLOCKING void read_all_fixed(struct raid *r, char *buffers, int depth) {
    struct fin_memory *m;
    const int fd[2] = {r->fd[0], r->fd[1]};
    EXPECT(fin_memory_register(&m, buffers, (size_t)depth * r->block) == 0);
    for (int i = 0; i < 2; i++)
        EXPECT((r->fd[i] = fin_file_register(fd[i])) >= 0);
    fin_finish {
        for (int i = 0; i < depth; i++) {
            fin_async { read_some_fixed(r, m, buffers + (size_t)i * r->block); };
        }
    }
    for (int i = 0; i < 2; i++) {
        EXPECT(fin_file_unregister(r->fd[i]) == 0);
        r->fd[i] = fd[i];
    }
    EXPECT(fin_memory_unregister(m) == 0);
}

// ---- with Fin, each loop without a stack while it waits

struct reader {
    struct fin_on on;
    struct raid *raid;
    char *buffer;
    struct place place;
};

static void has_read(void *state, int n);

static void read_next(void *state, int result) {
    struct reader *r = *(struct reader **)state;
    (void)result;
    if (!next_read(r->raid, &r->place))
        fin_cont_end();
    fin_pread_on(&r->on, r->place.fd, r->buffer, r->raid->block, r->place.offset, has_read, &r, sizeof r);
}

static void has_read(void *state, int n) {
    struct reader *r = *(struct reader **)state;
    check_read(r->raid, &r->place, r->buffer, n);
    read_next(state, 0);
}

static FIN_BLOCKING void read_all_explicit(struct raid *raid, char *buffers, int depth) {
    struct reader *readers = calloc((size_t)depth, sizeof *readers);
    EXPECT(readers != NULL);
    fin_finish {
        for (int i = 0; i < depth; i++) {
            struct reader *r = &readers[i];
            r->raid = raid;
            r->buffer = buffers + (size_t)i * raid->block;
            EXPECT(fin_async_cont(read_next, &r, sizeof r) != NULL);
        }
    }
    free(readers);
}

// ---- the same without

static void read_all_blocking(struct raid *r, char *buffer) {
    struct place p;
    while (next_read(r, &p)) {
        ssize_t n = pread(p.fd, buffer, r->block, p.offset);
        check_read(r, &p, buffer, n);
    }
}

// ---- the measurement

struct run {
    const char *paths[2];
    size_t block;
    int depth;
    uint64_t reads;
    bool direct, sync, explicit, fixed;
};

// 0, or -errno where there are no such reads.
static FIN_BLOCKING int measure(const struct run *run, struct cost *cost) {
    struct raid raid;
    int error = open_raid(&raid, run->paths, run->block, run->reads, 2 * (uint64_t)run->depth, run->direct);
    if (error == 0) {
        char *buffers = read_buffers(&raid, run->depth);
        bool ring = strncmp(fin_io_backend(), "io_uring", 8) == 0; // the ring, or what stands for it, is made now
        if (run->fixed && !ring)
            error = -EOPNOTSUPP; // they would be plain reads
        else if (run->sync)
            read_all_blocking(&raid, buffers);
        else if (run->explicit)
            read_all_explicit(&raid, buffers, run->depth);
        else if (run->fixed)
            read_all_fixed(&raid, buffers, run->depth);
        else
            read_all(&raid, buffers, run->depth);
        *cost = raid.cost;
        free(buffers);
    }
    close_raid(&raid);
    return error;
}

static FIN_BLOCKING void print_run(const struct run *run) {
    struct cost cost;
    int error = measure(run, &cost);
    char name[32];
    const char *how = run->sync       ? "pread"
                      : run->explicit ? "Fin, no stacks, %d"
                      : run->fixed    ? "Fin, registered, %d"
                                      : "Fin, %d in flight";
    snprintf(name, sizeof name, how, run->depth);
    printf("  %6zu bytes, %-8s %-22s ", run->block, run->direct ? "direct," : "cached,", name);
    if (error)
        printf("skipped: %s\n", strerror(-error));
    else
        printf("%10.0f reads/s %8.0f MB/s %8.2f us of CPU a read\n", (double)run->reads / cost.seconds,
               (double)(run->reads * run->block) / cost.seconds / 1e6, cost.cpu * 1e6 / (double)run->reads);
    fflush(stdout);
}

static FIN_BLOCKING void show(struct run run, bool brief) {
    static const int depths[] = {1, 8, 64, 1024};
    printf("  I/O through %s\n", fin_io_backend());
    for (size_t block = PAGE; block <= STRIPE; block *= STRIPE / PAGE) {
        for (int direct = 0; direct < 2; direct++) {
            run.block = block;
            run.direct = direct;
            run.reads = brief ? 2000 : direct ? 20000 : 400000 / (block / PAGE);
            run.sync = true;
            run.depth = 1;
            print_run(&run);
            run.sync = false;
            for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
                run.depth = depths[i];
                print_run(&run);
            }
            run.explicit = true;
            print_run(&run);
            run.explicit = false;
            run.fixed = true;
            print_run(&run);
            run.fixed = false;
        }
    }
}

// A file without a name, so that none is left however this ends; its path as long as the descriptor is open.
static int make_file(char **path) {
    char name[] = "fin-reads-XXXXXX";
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0) {
        fprintf(stderr, "reads: no file can be made here: %s\n", strerror(errno));
        exit(1);
    }
    EXPECT(unlink(name) == 0 && asprintf(path, "/proc/self/fd/%d", fd) > 0);
    return fd;
}

static FIN_BLOCKING void make_and_show(bool brief) {
    char *paths[2];
    int fds[2] = {make_file(&paths[0]), make_file(&paths[1])};
    struct run run = {.paths = {paths[0], paths[1]}};
    write_raid(run.paths, brief ? 4 << 20 : 128 << 20);
    show(run, brief);
    for (int i = 0; i < 2; i++) {
        close(fds[i]);
        free(paths[i]);
    }
}

FIN_BLOCKING int main(int argc, char **argv) {
    fin_set_stack_size(16 << 10); // the loops call little, and there are a thousand: fin/awe.h
    if (argc < 3) {
        only_options(argc, argv, 1, OPTIONS("--short"));
        make_and_show(has_option(argc, argv, "--short"));
        return 0;
    }
    bool make = strcmp(argv[1], "--make") == 0;
    if (make)
        only_options(argc, argv, 4, OPTIONS("--size="));
    else
        only_options(argc, argv, 3,
                     OPTIONS("--sync", "--explicit", "--fixed", "--direct", "--block=", "--depth=", "--reads="));
    struct run run = {.paths = {argv[1 + make], argc > 3 || !make ? argv[2 + make] : NULL},
                      .block = (size_t)option_within(argc, argv, "--block", PAGE, PAGE, STRIPE),
                      .depth = (int)option_within(argc, argv, "--depth", 1, 1, 1000000),
                      .reads = (uint64_t)option_within(argc, argv, "--reads", 100000, 1, 1L << 40),
                      .direct = has_option(argc, argv, "--direct"),
                      .sync = has_option(argc, argv, "--sync"),
                      .explicit = has_option(argc, argv, "--explicit"),
                      .fixed = has_option(argc, argv, "--fixed")};
    EXPECT(run.paths[1]);
    if (make) {
        write_raid(run.paths, (uint64_t)option_within(argc, argv, "--size", 256 << 20, STRIPE, 1L << 40));
        return 0;
    }
    struct cost cost;
    int error = measure(&run, &cost);
    if (error) {
        fprintf(stderr, "reads: %s\n", strerror(-error));
        return 1;
    }
    printf("%llu %.9f %.9f\n", (unsigned long long)run.reads, cost.seconds, cost.cpu);
    return 0;
}
