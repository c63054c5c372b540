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
// Captures may be over-aligned, and only the original tells how it lies.
enum { ALIGN = 128, SMALL = 128 };

static __attribute__((noinline)) void run_large(struct block *b) {
    char room[b->descriptor->size + ALIGN] __attribute__((aligned(ALIGN)));
    char *copy = room + (uintptr_t)b % ALIGN;
    memcpy(copy, b, b->descriptor->size);
    b->invoke((struct block *)copy, NULL);
}

void fin_block_run_(void *block) {
    typedef uint64_t __attribute__((may_alias)) word;
    struct block *b = block;
    size_t size = b->descriptor->size, i = sizeof *b;
    if (size > SMALL) {
        run_large(b);
        return;
    }
    char room[SMALL + ALIGN] __attribute__((aligned(ALIGN)));
    char *copy = room + (uintptr_t)b % ALIGN;
    *(struct block *)copy = (struct block){b->isa, b->flags, b->reserved, b->invoke, b->descriptor};
    // A call of memcpy would cost more than the few words, and a load of what two stores have just written stalls.
    for (; i + sizeof(word) <= size; i += sizeof(word)) {
        *(word *)(copy + i) = *(const word *)((const char *)b + i);
        __asm__ volatile("" : : : "memory");
    }
    for (; i < size; i++)
        copy[i] = ((const char *)b)[i];
    b->invoke((struct block *)copy, NULL);
}
