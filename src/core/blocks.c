// SPDX-License-Identifier: BSD-2-Clause
// Runs an async body that is a Clang block. The layout is that of the Block ABI.
#include <string.h>

#include <fin/finish.h>

struct block {
    void *isa;
    int flags, reserved;
    void (*invoke)(struct block *, void *);
    const struct {
        unsigned long reserved, size;
    } *descriptor;
};

void fin_block_run_(void *block);

// The copy lives on the stack of the body: the original is overwritten by the next iteration of a loop around the async.
void fin_block_run_(void *block) {
    struct block *b = block;
    // captures may be over-aligned, and only the original tells how it lies
    enum { MOST = 128 };
    char room[b->descriptor->size + MOST] __attribute__((aligned(MOST)));
    char *copy = room + (uintptr_t)b % MOST;
    memcpy(copy, b, b->descriptor->size);
    b->invoke((struct block *)copy, NULL);
}
