// SPDX-License-Identifier: BSD-2-Clause
// What the files of this room share.
#ifndef FIN_CHAN_CHAN_H
#define FIN_CHAN_CHAN_H

#include <fin/chan.h>
#include <fin/sync.h>

#include "chan/bell.h"

// Of those who send at an end, or receive: one at a time goes through the slow half, or has a reservation. On an end that is
// not shared all are on one thread, and what does not block needs no turn.
struct turn {
    bool shared;
    bool busy;              // somebody has it; guarded by the latch where the end is shared
    struct fin_latch latch; // shared: also held by those who do not block
    struct fin_mutex mutex; // held by who has the turn
};

struct out {
    struct ump_tx ump; // first
    bool quick;        // not shared, and nobody has the turn
    size_t most, reserved;
    struct turn turn;
} __attribute__((aligned(64)));

struct in {
    struct ump_rx ump; // first
    bool quick;
    uint32_t tries; // that found nothing
    size_t most;
    uint64_t peeked; // header
    struct turn turn;
} __attribute__((aligned(64)));

// The memory, mapped; and of a pair in one process, where its ends meet in each direction.
struct shared_map {
    uint32_t users;
    char *base;
    size_t size;
    struct meeting meeting[2];
};

struct fin_chan {
    struct out out;
    struct in in;
    struct shared_map *map;
};

// open.c
int fin_chan_memory_new(size_t size);           // a sealed memfd, or -errno
int fin_chan_memory_check(int fd, size_t size); // 0, or -EPROTO where touching it might not be safe

#endif
