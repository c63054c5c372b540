// SPDX-License-Identifier: BSD-2-Clause
// Two files striped as RAID0, random reads from them, and what those cost: for programs that differ only in how they read.
#ifndef FIN_EXAMPLES_RAID_H
#define FIN_EXAMPLES_RAID_H

#include <errno.h>
#include <fcntl.h>
#include <sys/types.h>
#include <time.h>

#include "example.h"

enum { STRIPE = 64 * 1024, PAGE = 4096 };

static inline double seconds_on(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct cost {
    double seconds, cpu;
};

static inline struct cost cost_now(void) {
    return (struct cost){seconds_on(CLOCK_MONOTONIC), seconds_on(CLOCK_PROCESS_CPUTIME_ID)};
}

static inline struct cost cost_since(struct cost start) {
    struct cost now = cost_now();
    return (struct cost){now.seconds - start.seconds, now.cpu - start.cpu};
}

struct raid {
    int fd[2];
    uint64_t blocks; // in both files
    uint64_t left;   // reads to be started
    // Of these, the last so many are measured, from the start of the first to where one more would start: first stacks and
    // files get warm, and afterwards fewer and fewer are in flight.
    uint64_t reads;
    struct cost start, cost;
    uint64_t random;
    size_t block; // what one read reads; divides STRIPE, or is STRIPE
};

struct place {
    int fd;
    off_t offset;
    uint64_t check; // what the block there begins with
};

// The next place to read from. False: there have been enough.
static inline bool next_read(struct raid *r, struct place *p) {
    if (r->left == 0) {
        if (r->cost.seconds == 0)
            r->cost = cost_since(r->start);
        return false;
    }
    if (r->left-- == r->reads)
        r->start = cost_now();
    r->random ^= r->random << 13;
    r->random ^= r->random >> 7;
    r->random ^= r->random << 17;
    uint64_t block = (uint64_t)((unsigned __int128)r->random * r->blocks >> 64);
    uint64_t offset = block * r->block, stripe = offset / STRIPE;
    *p = (struct place){
        .fd = r->fd[stripe % 2], .offset = (off_t)(stripe / 2 * STRIPE + offset % STRIPE), .check = offset + 1};
    return true;
}

static inline void check_read(const struct raid *r, const struct place *p, const void *buffer, ssize_t result) {
    EXPECT(result == (ssize_t)r->block);
    EXPECT(memcmp(buffer, &p->check, sizeof p->check) == 0);
}

// Every page begins with where it lies in the whole, plus one.
static inline void write_raid(const char *const path[2], uint64_t size_of_each) {
    unsigned char *stripe = calloc(1, STRIPE);
    EXPECT(stripe && size_of_each % STRIPE == 0);
    for (int i = 0; i < 2; i++) {
        int fd = open(path[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        EXPECT(fd >= 0);
        for (uint64_t at = 0; at < size_of_each; at += STRIPE) {
            for (uint64_t page = 0; page < STRIPE; page += PAGE) {
                uint64_t check = (at / STRIPE * 2 + (uint64_t)i) * STRIPE + page + 1;
                memcpy(stripe + page, &check, sizeof check);
            }
            ssize_t n = write(fd, stripe, STRIPE);
            if (n != STRIPE) {
                fprintf(stderr, "%s: %s\n", path[i], n < 0 ? strerror(errno) : "the disk is full");
                exit(1);
            }
        }
        EXPECT(fsync(fd) == 0 && close(fd) == 0);
    }
    free(stripe);
}

// 0, or -errno: -EINVAL where the file system has no direct reads.
static inline int open_raid(struct raid *r, const char *const path[2], size_t block, uint64_t reads, uint64_t warming,
                            bool direct) {
    EXPECT(block > 0 && block % PAGE == 0 && STRIPE % block == 0);
    *r = (struct raid){.fd = {-1, -1}, .left = reads + warming, .reads = reads, .random = 88172645463325252, .block = block};
    for (int i = 0; i < 2; i++) {
        r->fd[i] = open(path[i], O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
        if (r->fd[i] < 0)
            return -errno;
    }
    off_t size = lseek(r->fd[0], 0, SEEK_END);
    EXPECT(size >= STRIPE && lseek(r->fd[1], 0, SEEK_END) == size);
    r->blocks = (uint64_t)size / STRIPE * 2 * (STRIPE / block);
    return 0;
}

static inline void close_raid(struct raid *r) {
    close(r->fd[0]);
    close(r->fd[1]);
}

static inline void *read_buffers(const struct raid *r, int count) {
    void *buffers = aligned_alloc(PAGE, (size_t)count * r->block); // aligned as direct reads want it
    EXPECT(buffers != NULL);
    memset(buffers, 0, (size_t)count * r->block);
    return buffers;
}

#endif
