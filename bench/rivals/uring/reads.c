// SPDX-License-Identifier: BSD-2-Clause
// Random reads in callbacks: each completion checks what was read and starts the next read.
#define _GNU_SOURCE
#include "../../../examples/raid.h"
#include "uring.h"

struct request {
    struct operation operation;
    struct raid *raid;
    struct place place;
    void *buffer;
};

static int in_flight;
static void (*read_at)(struct operation *, int fd, void *, size_t, off_t) = uring_pread;

static void start(struct request *q) {
    if (!next_read(q->raid, &q->place))
        return;
    in_flight++;
    read_at(&q->operation, q->place.fd, q->buffer, q->raid->block, q->place.offset);
}

static void on_read(struct operation *o, int result, unsigned flags) {
    struct request *q = (struct request *)o;
    (void)flags;
    in_flight--;
    check_read(q->raid, &q->place, q->buffer, result);
    start(q);
}

// Numbers of registered files stand for the files from now on.
static void use_registered(struct raid *raid, char *buffers, int depth) {
    uring_register(raid->fd, 2, buffers, (size_t)depth * raid->block);
    close_raid(raid);
    raid->fd[0] = 0;
    raid->fd[1] = 1;
    read_at = uring_pread_fixed;
}

// reads FILE FILE [--fixed] [--block N] [--depth N] [--reads N] [--direct]
int reads(int argc, char **argv) {
    const char *const paths[2] = {argv[2], argv[3]};
    int depth = (int)option_value(argc, argv, "--depth", 1);
    struct raid raid;
    uint64_t count = (uint64_t)option_value(argc, argv, "--reads", 100000);
    EXPECT(depth > 0);
    int error = open_raid(&raid, paths, (size_t)option_value(argc, argv, "--block", PAGE), count, 2 * (uint64_t)depth,
                          has_option(argc, argv, "--direct"));
    if (error) {
        fprintf(stderr, "reads: %s\n", strerror(-error));
        return 1;
    }
    struct request *requests = allocate((size_t)depth * sizeof *requests);
    char *buffers = read_buffers(&raid, depth);
    uring_begin();
    bool fixed = has_option(argc, argv, "--fixed");
    if (fixed)
        use_registered(&raid, buffers, depth);
    for (int i = 0; i < depth; i++) {
        requests[i] = (struct request){{on_read}, &raid, {0}, buffers + (size_t)i * raid.block};
        start(&requests[i]);
    }
    while (in_flight)
        uring_run(-1);
    printf("%llu %.9f %.9f\n", (unsigned long long)count, raid.cost.seconds, raid.cost.cpu);
    if (!fixed)
        close_raid(&raid);
    free(buffers);
    free(requests);
    return 0;
}
