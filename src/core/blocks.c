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
// Captures may be over-aligned, and only the original tells how it lies. A body looks at what it captured, never at the
// words before.
enum { ALIGN = 128, SMALL = 128 };

static __attribute__((noinline)) void run_large(struct block *b) {
    char room[b->descriptor->size + ALIGN];
    char *copy = room + ((uintptr_t)b - (uintptr_t)room) % ALIGN;
    memcpy(copy, b, b->descriptor->size);
    b->invoke((struct block *)copy, NULL);
}

#define WHOLE_WORDS __attribute__((no_sanitize("address"))) // the last one may end behind the block

WHOLE_WORDS void fin_block_run_(void *block) {
    typedef uint64_t __attribute__((may_alias)) word;
    struct block *b = block;
    size_t size = b->descriptor->size;
    if (__builtin_expect(size > SMALL, 0)) {
        run_large(b);
        return;
    }
    char room[SMALL + ALIGN];
    char *copy = room + ((uintptr_t)b - (uintptr_t)room) % ALIGN;
    // A call of memcpy would cost more than the few words, and a load of what two stores have just written stalls.
    for (size_t i = sizeof *b; i < size; i += sizeof(word)) {
        *(word *)(copy + i) = *(const word *)((const char *)b + i);
        __asm__ volatile("" : : : "memory");
    }
    b->invoke((struct block *)copy, NULL);
}
