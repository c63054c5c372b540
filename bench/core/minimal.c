// SPDX-License-Identifier: BSD-2-Clause
// The minimal switch, the yardstick of the tables: rsp, rbp, rip; a jump. No queue, no states, nothing that could go wrong.
#include <stdlib.h>
#include <sys/mman.h>

#include <fin.h>

#include "rows.h"

struct minimal {
    void *ip, *sp, *fp;
    struct minimal *next;
};

static inline __attribute__((always_inline)) void minimal_switch(struct minimal *from, struct minimal *to) {
#if defined(__x86_64__)
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                     "movq %%rax, (%%rdi)\n\t"
                     "movq %%rsp, 8(%%rdi)\n\t"
                     "movq %%rbp, 16(%%rdi)\n\t"
                     "movq 8(%%rsi), %%rsp\n\t"
                     "movq 16(%%rsi), %%rbp\n\t"
                     "jmp *(%%rsi)\n"
                     "1:"
                     : "+D"(from), "+S"(to)
                     :
                     : "rax", "rbx", "rcx", "rdx", FIN_ARCH_CLOBBERS_);
#elif defined(__aarch64__)
    register struct minimal *f __asm__("x0") = from, *t __asm__("x1") = to;
    __asm__ volatile("adr x2, 1f\n\t"
                     "mov x3, sp\n\t"
                     "stp x2, x3, [x0]\n\t"
                     "str x29, [x0, #16]\n\t"
                     "ldp x2, x3, [x1]\n\t"
                     "ldr x29, [x1, #16]\n\t"
                     "mov sp, x3\n\t"
                     "br x2\n"
                     "1:"
                     : "+r"(f), "+r"(t)
                     :
                     : "x2", "x3", "x19", FIN_ARCH_CLOBBERS_);
#endif
}

// The stacks have the size of Fin's, and lie as far from each other.
enum { STACK = 64 * 1024, LINE = 64 };

static struct minimal *maker, home; // home is the OS thread's own stack
static long left;                   // switches before the ring goes home

// On each stack: the context lies in the frame; it goes to the next of the ring, for ever.
static __attribute__((noinline)) void spin(void) {
    struct minimal here = {.next = maker->next ? maker->next : &here};
    maker->next = &here;
    minimal_switch(&here, &home);
    for (;;) {
        if (--left < 0)
            minimal_switch(&here, &home);
        else
            minimal_switch(&here, here.next);
    }
}

struct ring {
    long stacks, colours; // tops lie up to that many lines apart
    struct minimal *first;
};

static struct minimal *make_ring(long stacks, long colours) {
    char *p = mmap(NULL, (size_t)stacks * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        bench_failed("mmap of the stacks", __FILE__, __LINE__, errno);
    madvise(p, (size_t)stacks * STACK, MADV_NOHUGEPAGE);
    struct minimal before = {0}, *first = NULL;
    maker = &before;
    for (long i = 0; i < stacks; i++) {
        struct minimal entry = {.ip = (void *)spin, .sp = p + (i + 1) * STACK - i % colours * LINE};
#if defined(__x86_64__)
        entry.sp = (void **)entry.sp - 1; // as after a call
#endif
        minimal_switch(&home, &entry);
        maker = maker->next;
        if (!first)
            first = maker;
    }
    return first;
}

static double rounds(struct ring *r, long n) {
    if (!r->first)
        r->first = make_ring(r->stacks, r->colours);
    left = r->stacks + n / 8; // a round: the caches are full of other rows
    minimal_switch(&home, r->first);
    left = n;
    uint64_t start = bench_ticks();
    minimal_switch(&home, r->first);
    return bench_since(start, (double)n);
}

double minimal_two(long n) {
    static struct ring two = {.stacks = 2, .colours = 64};
    return rounds(&two, n);
}

double minimal_ring(long n) {
    static struct ring level = {.stacks = RING, .colours = 1};
    return rounds(&level, n);
}

double minimal_ring_staggered(long n) {
    static struct ring staggered = {.stacks = RING, .colours = 64};
    return rounds(&staggered, n);
}
